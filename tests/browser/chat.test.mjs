// The chat's page in real browsers that talk to each other.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { TIMEOUT_MS, Watched, expectAccessible, expectToFit, launch } from "./browser.mjs";
import { Server } from "./server.mjs";

// What the server keeps of a room.
const KEPT_MESSAGES = 50;
// Fewer than a page may say at once, beside its joining.
const BURST_MESSAGES = 8;

describe("the chat", { timeout: 5 * TIMEOUT_MS }, () => {
  let server, browser;
  let contexts = [];
  let watched = [];

  before(async () => {
    server = await Server.start();
    browser = await launch();
  });

  afterEach(async () => {
    for (const context of contexts) await context.close();
    for (const each of watched) each.check();
    [contexts, watched] = [[], []];
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  /** The page of a browser of its own. */
  async function open(room, { url = server.url, ...options } = {}) {
    const context = await browser.newContext(options);
    contexts.push(context);
    const page = await context.newPage();
    watched.push(new Watched(page, url));
    await page.goto(`${url}/chat#room=${room}`);
    return page;
  }

  /** Somebody who is in a room. */
  async function enter(name, room, options) {
    const page = await open(room, options);
    await introduce(page, name);
    await page.getByRole("heading", { name: room, exact: true }).waitFor();
    return page;
  }

  test("carries what one says to the other, as text whatever it is", async () => {
    const [ada, grace] = [await enter("Ada", "tea"), await enter("Grace", "tea")];
    await say(ada, "<img src=x onerror=alert(1)> & <b>milk</b>?");
    await heard(grace, "<img src=x onerror=alert(1)> & <b>milk</b>?");
    await say(grace, "two\nlines");
    await heard(ada, "two\nlines");
    assert.equal(await ada.locator("#log img, #log p b").count(), 0);
    assert.deepEqual(await ada.locator("#log .own b").allTextContents(), ["Ada"]);
    assert.deepEqual(await grace.locator("#log .own b").allTextContents(), ["Grace"]);
  });

  test("knows who is there, comes and leaves", async () => {
    const ada = await enter("Ada", "presence");
    const grace = await enter("Grace", "presence");
    await people(ada, ["Ada", "Grace"]);
    await people(grace, ["Ada", "Grace"]);
    await ada.getByRole("log").getByText("Grace came in").waitFor();
    await grace.close();
    await people(ada, ["Ada"]);
    await ada.getByRole("log").getByText("Grace left").waitFor();
  });

  test("keeps rooms apart, makes new ones, and lists them for all", async () => {
    const [ada, grace] = [await enter("Ada", "first"), await enter("Grace", "first")];
    await grace.getByLabel("Go to another room").fill("Second");
    await grace.keyboard.press("Enter");
    await grace.getByRole("heading", { name: "second", exact: true }).waitFor();
    await people(ada, ["Ada"]);
    await say(grace, "only here");
    await heard(grace, "only here");
    await say(ada, "only there");
    await heard(ada, "only there");
    assert.equal(await ada.getByText("only here").count() + (await grace.getByText("only there").count()), 0);

    await ada.getByRole("link", { name: "second 1 here" }).click();
    await heard(ada, "only here");
    await people(ada, ["Ada", "Grace"]);
    assert.equal(await ada.getByText("only there").count(), 0, "the log is the room's");
    await ada.goBack();
    await ada.getByRole("heading", { name: "first", exact: true }).waitFor();
    await heard(ada, "only there");
  });

  test("tells those who come back what was said, the last of it", async () => {
    const texts = Array.from({ length: KEPT_MESSAGES + 1 }, (_, number) => `message ${number}`);
    const listener = await enter("Listener", "history");
    for (let from = 0; from < texts.length; from += BURST_MESSAGES) {
      const speaker = await enter(`Speaker ${from}`, "history");
      for (const text of texts.slice(from, from + BURST_MESSAGES)) await say(speaker, text);
      await heard(listener, texts[Math.min(from + BURST_MESSAGES, texts.length) - 1]);
      await speaker.close();
    }
    await listener.reload();
    await heard(listener, texts.at(-1));
    assert.deepEqual(await listener.locator("#log div p").allTextContents(), texts.slice(1));
  });

  test("remembers a name, and lets go of it", async () => {
    const page = await enter("Ada", "names");
    await page.reload();
    await people(page, ["Ada"]);
    await page.getByRole("button", { name: "Change my name" }).click();
    await introduce(page, "Countess");
    await people(page, ["Countess"]);
  });

  test("says what is refused, and loses nothing", async () => {
    await enter("Ada", "limits");
    const page = await open("limits");
    await introduce(page, "ada");
    await page.getByRole("alert").filter({ hasText: "has this name" }).waitFor();
    await introduce(page, "Grace");
    await people(page, ["Ada", "Grace"]);
    await page.evaluate(() => (location.hash = "#room=a/b"));
    await page.getByRole("alert").filter({ hasText: "letters, digits and hyphens" }).waitFor();
    await page.getByRole("heading", { name: "limits", exact: true }).waitFor();
    await sayAtOnce(page, Array.from({ length: 3 * BURST_MESSAGES }, (_, count) => `fast ${count}`));
    await page.getByRole("alert").filter({ hasText: "too fast" }).waitFor();
    assert.match(await page.getByRole("textbox", { name: "Message" }).inputValue(), /^fast \d+$/);
  });

  test("comes back when the server does", async () => {
    const own = await Server.start();
    const ada = await enter("Ada", "again", { url: own.url });
    const grace = await enter("Grace", "again", { url: own.url });
    await say(ada, "before");
    await heard(grace, "before");
    await own.stop();
    for (const page of [ada, grace]) await page.locator("#state.down").filter({ hasText: /attempt \d+ failed/ }).waitFor();
    await ada.getByRole("textbox", { name: "Message" }).fill("kept meanwhile");
    await ada.getByRole("button", { name: "Send" }).click();
    await ada.getByRole("alert").filter({ hasText: "Not connected" }).waitFor();

    await own.startAgain();
    for (const page of [ada, grace]) {
      await page.locator("#state.up").waitFor();
      await people(page, ["Ada", "Grace"]);
    }
    await ada.getByRole("button", { name: "Send" }).click();
    await heard(grace, "kept meanwhile");
    assert.deepEqual(await grace.locator("#log div p").allTextContents(), ["before", "kept meanwhile"]);
    // The browser logs every connection that failed.
    for (const each of watched) each.complaints = each.complaints.filter((text) => !text.includes("ERR_CONNECTION_REFUSED"));
    await own.stop();
  });

  test("needs no mouse", async () => {
    const page = await open("keys");
    await page.locator("#name").waitFor();
    await page.keyboard.type("Ada");
    await page.keyboard.press("Enter");
    await people(page, ["Ada"]);
    await page.keyboard.type("hello");
    await page.keyboard.press("Enter");
    await heard(page, "hello");
    await page.keyboard.press("Shift+Tab");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "log");
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`is accessible when it is ${colorScheme}`, async () => {
      const page = await open("axe", { colorScheme });
      await page.getByLabel("Your name").waitFor();
      await expectAccessible(page);
      await introduce(page, colorScheme);
      await say(page, "hello");
      await heard(page, "hello");
      await expectAccessible(page);
    });
  }

  for (const width of [320, 768, 1280]) {
    test(`fits a window ${width} pixels wide`, async () => {
      const page = await enter("W".repeat(24), "w".repeat(32));
      await say(page, "w".repeat(500));
      await heard(page, "w".repeat(500));
      await expectToFit(page, width);
    });
  }
});

async function introduce(page, name) {
  await page.getByLabel("Your name").fill(name);
  await page.getByRole("button", { name: "Come in" }).click();
}

async function say(page, text) {
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill(text);
  await message.press("Enter");
}

/** Says all of it before the page can do anything else: however slow the machine is, that is too fast. */
async function sayAtOnce(page, texts) {
  await page.getByRole("textbox", { name: "Message" }).evaluate((message, texts) => {
    for (const text of texts) {
      message.value = text;
      message.form.requestSubmit();
    }
  }, texts);
}

/** Waits until the page shows a message. */
async function heard(page, text) {
  await page.waitForFunction((text) => [...document.querySelectorAll("#log div p")].some((line) => line.textContent === text), text);
}

/** Waits until the page shows that these are there. */
async function people(page, names) {
  await page.waitForFunction(
    (names) => [...document.querySelectorAll("#people li")].map((item) => item.textContent).join("|") === names.join("|"),
    names,
  );
}
