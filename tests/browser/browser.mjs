// A browser without a window, and pages that are watched.

import assert from "node:assert/strict";

import axe from "axe-core";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const TIMEOUT_MS = 60_000;

export const launch = () => chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });

/** A page, and what it has done that it should not. */
export class Watched {
  /** What the browser has to complain of. */
  complaints = [];
  /** What was asked of somebody else than the server. */
  foreign = [];

  constructor(page, url) {
    this.page = page;
    page.setDefaultTimeout(TIMEOUT_MS);
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.on("console", (message) => message.type() === "error" && this.complaints.push(message.text()));
    page.on("request", (request) => request.url().startsWith(url) || this.foreign.push(request.url()));
  }

  /** Expects that it did nothing of the kind. */
  check() {
    assert.deepEqual(this.complaints, [], "the browser has something to complain of");
    assert.deepEqual(this.foreign, [], "the page asked somebody else for something");
  }
}

/** Expects that anybody can use the page as it is now. */
export async function expectAccessible(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.flatMap(({ help, nodes }) => nodes.map((node) => `${help}: ${node.target}`));
  assert.deepEqual(found, []);
}

/** Expects that nothing of the page lies beside a window of this width. */
export async function expectToFit(page, width) {
  await page.setViewportSize({ width, height: 800 });
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} pixels too wide`);
}
