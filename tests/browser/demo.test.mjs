// The demo's page in a real browser. What is slow or fast is compared, never timed.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";

import { TIMEOUT_MS, Watched, expectAccessible, expectToFit, launch } from "./browser.mjs";
import { Server } from "./server.mjs";

// Far more than a server with a thread or two could have in flight.
const SLOW_REQUESTS = 64;

describe("the demo", { timeout: 5 * TIMEOUT_MS }, () => {
  let server, browser, watched, page;

  before(async () => {
    server = await Server.start();
    browser = await launch();
  });

  beforeEach(async () => {
    page = await browser.newPage();
    watched = new Watched(page, server.url);
    await page.goto(server.url);
  });

  afterEach(async () => {
    await page.close();
    watched.check();
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test("shows that the fast endpoint stays fast while slow ones are in flight", async () => {
    await press(page, SLOW_REQUESTS);
    // From here on, so that what was drawn before does not count.
    await page.reload();
    await press(page, SLOW_REQUESTS);
    await waitForSamples(page, "#fast", 20);
    await waitForSamples(page, "#slow", 3);

    const [fast, slow] = [await quantiles(page, "#fast"), await quantiles(page, "#slow")];
    assert.ok(slow.p50 >= 500, `the slow endpoint sleeps 500 ms, and not ${slow.p50}`);
    assert.ok(fast.p50 < slow.p50, `fast ${fast.p50} ms, slow ${slow.p50} ms`);
    assert.ok(fast.mean < slow.mean, `fast ${fast.mean} ms, slow ${slow.mean} ms in the server`);
    assert.ok(fast.p50 <= fast.p99 && slow.p50 <= slow.p99);
  });

  test("answers fast requests before a slow one that was sent first", async () => {
    const order = await page.evaluate(async () => {
      const order = [];
      const ask = (path) => fetch(path).then(() => order.push(path));
      const slow = ask("/api/slow");
      for (let count = 0; count < 3; count += 1) await ask("/api/fast");
      await slow;
      return order;
    });
    assert.deepEqual(order, ["/api/fast", "/api/fast", "/api/fast", "/api/slow"]);
  });

  test("goes on drawing", async () => {
    for (const card of ["#fast", "#slow"]) {
      const trace = page.locator(`${card} .trace`);
      await waitForSamples(page, card, 2);
      const before = await trace.getAttribute("d");
      await page.waitForFunction(([card, before]) => document.querySelector(`${card} .trace`).getAttribute("d") !== before, [card, before]);
    }
  });

  test("lets go of the slow requests again", async () => {
    await press(page, SLOW_REQUESTS);
    await press(page, 0);
  });

  test("says where each route runs", async () => {
    const row = (route) => page.locator("#routes tr").filter({ has: page.getByText(route, { exact: true }) });
    await row("GET /api/slow").filter({ hasText: "its own thread" }).waitFor();
    await row("GET /api/fast").waitFor();
    const takeovers = await page.locator('[data-tile="takeovers"]').textContent();
    assert.ok(Number(takeovers) >= 1, `the slow route was learned by ${takeovers} takeovers`);
  });

  test("sends requests to the JSON API and shows their answers", async () => {
    const response = page.locator("#api-response");
    await page.getByRole("button", { name: "Place an order" }).click();
    await response.filter({ hasText: "HTTP/1.1 201 Created" }).filter({ hasText: '"price": 36' }).waitFor();
    assert.match(await page.locator("#api-request").textContent(), /^POST \/api\/orders HTTP\/1\.1\n/);

    await page.getByRole("button", { name: "Show one" }).click();
    await response.filter({ hasText: "HTTP/1.1 200 OK" }).filter({ hasText: '"cloth": "linen"' }).waitFor();

    await page.getByLabel("Method").selectOption("GET");
    await page.getByLabel("Path").fill("/api/fast");
    await page.getByRole("button", { name: "Send" }).click();
    await response.filter({ hasText: '"slept_ms": 0' }).waitFor();
  });

  test("says what is wrong with a request", async () => {
    await page.getByRole("button", { name: "Make a mistake" }).click();
    await page.locator("#api-response").filter({ hasText: "422 Unprocessable Entity" }).filter({ hasText: "metres" }).waitFor();
    // The browser logs every status that is an error.
    assert.equal(watched.complaints.length, 1);
    assert.match(watched.complaints.pop(), /status of 422/);
  });

  test("lists the examples and its other pages", async () => {
    const commands = await page.locator(".examples code").allTextContents();
    assert.ok(commands.length >= 16, `only ${commands.length} examples`);
    assert.ok(commands.every((command) => /^cargo run --example \d\d_\w+$/.test(command)), commands.join());
    for (const link of await page.locator("footer a").all()) {
      const response = await page.request.get(new URL(await link.getAttribute("href"), server.url).href);
      assert.equal(response.status(), 200, response.url());
    }
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`is accessible when it is ${colorScheme}`, async () => {
      await page.emulateMedia({ colorScheme });
      await page.getByRole("button", { name: "List all" }).click();
      await page.locator("#routes tr").first().waitFor();
      await expectAccessible(page);
    });
  }

  for (const width of [320, 768, 1280]) {
    test(`fits a window ${width} pixels wide`, () => expectToFit(page, width));
  }

  test("shows figures that move, and draws them", async () => {
    const tile = (name) => page.locator(`[data-tile="${name}"]`);
    const answered = async () => Number((await tile("requests").textContent()).replaceAll(",", ""));
    await page.locator("#pulse.up").waitFor();
    const before = await answered();
    await page.waitForFunction((before) => Number(document.querySelector('[data-tile="requests"]').textContent.replaceAll(",", "")) > before, before);
    await tile("p99").filter({ hasText: /^[\d.]+(ms|s)$/ }).waitFor();
    await tile("rate").filter({ hasText: /^[1-9]/ }).waitFor();
    await tile("memory").filter({ hasText: /^[\d.]+MB$/ }).waitFor();
    await tile("sessions").filter({ hasText: /^[1-9]/ }).waitFor();
    const points = await page.locator('[data-tile="requests"] + dd .trace').getAttribute("d");
    assert.ok(points.split("L").length >= 2, points);
  });

  test("shows one who comes what the figures were", async () => {
    await page.waitForFunction(() => document.querySelector('[data-tile="requests"] + dd .trace').getAttribute("d")?.split("L").length >= 4);
    const other = await browser.newPage();
    await other.goto(server.url);
    await other.locator("#pulse.up").waitFor();
    const points = await other.locator('[data-tile="requests"] + dd .trace').getAttribute("d");
    assert.ok(points.split("L").length >= 4, points);
    await other.close();
  });

  test("says so when the server is gone, and goes on when it is back", async () => {
    const own = await Server.start();
    const other = await browser.newPage();
    await other.goto(own.url);
    await other.locator("#pulse.up").waitFor();
    await own.stop();
    await other.locator("#pulse.down").waitFor();
    await own.startAgain();
    await other.locator("#pulse.up").waitFor();
    await other.close();
    await own.stop();
  });
});

/** Moves the control to `count`, and waits until the server says that so many slow requests are in flight. */
async function press(page, count) {
  await page.getByLabel("Slow requests in flight").fill(String(count));
  await page.locator("#pulse-text").filter({ hasText: new RegExp(`[, ]${count} slow requests in flight`) }).waitFor();
}

async function waitForSamples(page, card, count) {
  await page.waitForFunction(
    ([card, count]) => document.querySelector(`${card} .trace`).getAttribute("d")?.split("L").length >= count,
    [card, count],
  );
}

/** The figures of a card, in milliseconds. */
async function quantiles(page, card) {
  const figure = async (name) => {
    const text = await page.locator(`${card} [data-figure="${name}"]`).textContent();
    const [, number, unit] = /^([\d.]+)(ms|s)$/.exec(text) ?? assert.fail(`${name} of ${card} is ${text}`);
    return Number(number) * (unit === "s" ? 1_000 : 1);
  };
  return { p50: await figure("p50"), p99: await figure("p99"), mean: await figure("mean") };
}
