// The page that files are dropped on, in a real browser; and the best-known client of tus, in it and in Node.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";

import axe from "axe-core";
import { chromium } from "playwright-core";
import * as tus from "tus-js-client";

import { Server } from "./server.mjs";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const TIMEOUT_MS = 60_000;
const MODES = ["tus", "ietf", "range", "form"];
const MIB = 1024 * 1024;
// Slow enough that an upload is under way when it is looked at.
const SLOW = ["--max-client-bytes-per-second", String(4 * MIB)];

describe("uploads", { timeout: 10 * TIMEOUT_MS }, () => {
  let directory, server, browser, context, page, complaints;

  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  });

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "uploads-"));
    complaints = [];
    context = await browser.newContext();
    page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("pageerror", (error) => complaints.push(error.message));
  });

  afterEach(async () => {
    await context.close();
    await server?.stop();
    await rm(directory, { recursive: true });
    assert.deepEqual(complaints, [], "the page has something to complain of");
  });

  after(async () => {
    await browser?.close();
  });

  async function start(...flags) {
    server = await Server.run("uploads", directory, ...flags);
    await page.goto(server.url);
  }

  async function choose(mode, ...files) {
    await page.locator(`.modes input[value=${mode}]`).check();
    await page.locator("#files").setInputFiles(files);
  }

  const row = (name) => page.locator(".upload").filter({ hasText: name });

  async function finished(name) {
    await row(name).and(page.locator(".complete")).waitFor();
    return readFile(path.join(directory, name));
  }

  for (const mode of MODES) {
    test(`several files by ${mode}`, async () => {
      await start();
      const files = [file("große Datei.bin", 3 * MIB), file("empty.txt", 0), file("c.bin", 5 * MIB + 1)];
      await choose(mode, ...files);
      for (const { name, buffer } of files) assert.ok(buffer.equals(await finished(name)), name);
      const sum = createHash("sha256").update(files[0].buffer).digest("hex");
      await page.locator("#finished tr").filter({ hasText: "große Datei.bin" }).filter({ hasText: sum }).waitFor();
      await page.locator('[data-tile="completed"]').filter({ hasText: "3" }).waitFor();
    });
  }

  for (const mode of ["tus", "ietf", "range"]) {
    test(`pause, reload and resume by ${mode}`, async () => {
      await start(...SLOW);
      const { name, buffer } = file("loom.bin", 12 * MIB);
      await choose(mode, { name, mimeType: "", buffer });
      await waitForProgress(row(name));
      await row(name).getByRole("button", { name: "Pause" }).click();
      await row(name).filter({ hasText: "paused" }).waitFor();
      await row(name).getByRole("button", { name: "Resume" }).click();
      await waitForProgress(row(name));
      await page.reload();
      await row(name).waitFor();
      assert.ok(buffer.equals(await finished(name)));
      const { total, received_bytes } = await stats(server);
      assert.equal(total, 1, "it is still the same upload");
      // Parts that were on their way when the page was left are sent again; a sequence goes on at its byte.
      if (mode !== "range") assert.ok(received_bytes === buffer.length, `${received_bytes} bytes came`);
    });
  }

  test("a file goes on when the server is back", async () => {
    await start(...SLOW);
    const { name, buffer } = file("loom.bin", 12 * MIB);
    await choose("tus", { name, mimeType: "", buffer });
    await waitForProgress(row(name));
    const { port } = new URL(server.url);
    await server.kill();
    await page.locator("#pulse.down").waitFor();
    server = await Server.run("uploads", directory, "--listen", `127.0.0.1:${port}`);
    assert.ok(buffer.equals(await finished(name)));
  });

  test("a file that is dropped is taken, and one that is removed is gone", async () => {
    await start(...SLOW);
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(12 * 1024 * 1024)], "dropped.bin"));
      return data;
    });
    await page.dispatchEvent("#drop", "drop", { dataTransfer: transfer });
    await waitForProgress(row("dropped.bin"));
    await row("dropped.bin").getByRole("button", { name: "Remove" }).click();
    await row("dropped.bin").waitFor({ state: "detached" });
    await page.waitForFunction(async () => (await (await fetch("/files/stats")).json()).terminated === 1);
    assert.deepEqual(await readdir(directory), [".uploads"]);
  });

  test("everything can be done by keyboard", async () => {
    // Asked for before the page is: the browser is told in the background, and a key is not to overtake that.
    const chooser = page.waitForEvent("filechooser");
    await start();
    await page.locator("input[name=mode][value=tus]").focus();
    await page.keyboard.press("ArrowRight");
    assert.ok(await page.locator("input[value=ietf]").isChecked());
    await page.keyboard.press("Tab");
    await page.locator("#files:focus").waitFor({ state: "attached" });
    await page.keyboard.press("Enter");
    await (await chooser).setFiles([file("a.bin", 10)]);
    await finished("a.bin");
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`is accessible when it is ${colorScheme}`, async () => {
      await start();
      await page.emulateMedia({ colorScheme });
      await choose("tus", file("a.bin", 10));
      await finished("a.bin");
      await page.locator("#finished tr").first().waitFor();
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.flatMap(({ help, nodes }) => nodes.map((node) => `${help}: ${node.target}`)), []);
    });
  }

  for (const width of [320, 768, 1280]) {
    test(`fits a window ${width} pixels wide`, async () => {
      await start();
      await page.setViewportSize({ width, height: 800 });
      await choose("tus", file(`${"long-name-".repeat(15)}.bin`, 10));
      await page.locator(".upload.complete").waitFor();
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${overflow} pixels too wide`);
    });
  }

  const protocols = { "tus 1.0": "tus-v1", "the IETF's draft 03": "ietf-draft-03", "the IETF's draft 05": "ietf-draft-05" };
  for (const [label, protocol] of Object.entries(protocols)) {
    test(`tus-js-client in Node by ${label}: breaks off and goes on`, async () => {
      await start();
      const { name, buffer } = file("loom.bin", 3 * MIB);
      const options = { endpoint: `${server.url}/files`, protocol, metadata: { filename: name }, chunkSize: MIB };
      const first = await new Promise((resolve, reject) => {
        const upload = new tus.Upload(buffer, {
          ...options,
          onError: reject,
          onChunkComplete: () => upload.abort().then(() => resolve(upload), reject),
        });
        upload.start();
      });
      await new Promise((resolve, reject) => {
        new tus.Upload(buffer, { ...options, uploadUrl: first.url, onError: reject, onSuccess: resolve }).start();
      });
      const [stored] = (await stats(server)).finished;
      assert.equal(stored.sha256, createHash("sha256").update(buffer).digest("hex"));
      assert.equal((await stats(server)).total, 1);
    });
  }

  test("tus-js-client in the browser, in parallel parts", async () => {
    await start();
    await page.evaluate(await readFile("node_modules/tus-js-client/dist/tus.min.js", "utf8"));
    await page.evaluate(async () => {
      const content = new File([new Uint8Array(3 * 1024 * 1024).fill(7)], "parallel.bin");
      await new Promise((resolve, reject) => {
        const options = { endpoint: "/files", parallelUploads: 3, metadata: { filename: content.name } };
        new globalThis.tus.Upload(content, { ...options, onError: reject, onSuccess: resolve }).start();
      });
    });
    const stored = await readFile(path.join(directory, "parallel.bin"));
    assert.ok(stored.equals(Buffer.alloc(3 * MIB, 7)));
  });
});

/** A file whose bytes are all but random, and the same in every run. */
function file(name, length) {
  const buffer = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) buffer.writeUInt32LE(Math.imul(at + length, 2_654_435_761) >>> 0, at);
  return { name, mimeType: "application/octet-stream", buffer };
}

async function waitForProgress(upload) {
  await upload.filter({ hasText: "left" }).waitFor();
}

async function stats(server) {
  return (await fetch(`${server.url}/files/stats`)).json();
}
