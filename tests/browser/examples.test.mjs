// The examples that have a page, as a newcomer tries them.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { TIMEOUT_MS, launch } from "./browser.mjs";
import { Server } from "./server.mjs";

describe("the examples", { timeout: 2 * TIMEOUT_MS }, () => {
  let browser;

  before(async () => {
    browser = await launch();
  });

  after(() => browser?.close());

  test("18 sends back what it gets", async () => {
    const example = await Server.example("18_websocket_echo");
    const page = await open(example.url);
    for (const text of ["hello", "<b>again</b>"]) await say(page, text);
    await lines(page, ["hello", "<b>again</b>"]);
    await example.stop();
  });

  test("19 carries what is said and announced to all", async () => {
    const example = await Server.example("19_websocket_chat");
    const ada = await open(`${example.url}/?name=ada`);
    await lines(ada, ["ada came in"]);
    const grace = await open(`${example.url}/?name=grace`);
    await lines(grace, ["grace came in"]);
    await say(grace, "hello");
    await lines(ada, ["ada came in", "grace came in", "grace: hello"]);
    const told = await fetch(`${example.url}/announcements`, { method: "POST", body: "tea is ready" });
    assert.equal(await told.text(), "2 have been told\n");
    await lines(grace, ["grace came in", "grace: hello", "tea is ready"]);
    await grace.close();
    await lines(ada, ["ada came in", "grace came in", "grace: hello", "tea is ready", "grace left"]);
    await example.stop();
  });

  /** A page whose socket is open. */
  async function open(url) {
    const page = await browser.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    await page.goto(url);
    await page.waitForFunction("socket.readyState === WebSocket.OPEN");
    return page;
  }
});

async function say(page, text) {
  await page.getByLabel("Say").fill(text);
  await page.keyboard.press("Enter");
}

/** Waits until the page shows these lines. */
async function lines(page, expected) {
  await page.waitForFunction(
    (expected) => [...document.querySelectorAll("li")].map((line) => line.textContent).join("|") === expected.join("|"),
    expected,
  );
}
