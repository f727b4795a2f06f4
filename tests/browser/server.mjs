// Starting and stopping the `tayet` program.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const TARGET = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, "target");
const PROGRAM = path.join(TARGET, process.env.TAYET_BROWSER_PROFILE ?? "debug", "tayet");

/** A running demo. */
export class Server {
  constructor(process, url) {
    this.process = process;
    this.url = url;
  }

  /** Starts the demo on a free port and waits until it listens. */
  static async start(...flags) {
    return Server.run("demo", ...flags);
  }

  /** Starts a command, on a free port unless it is told one, and waits until it listens. */
  static async run(...command) {
    const listen = command.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
    const server = spawn(PROGRAM, [...command, ...listen], { stdio: ["ignore", "pipe", "inherit"] });
    await once(server, "spawn");
    for await (const line of createInterface({ input: server.stdout })) {
      const [, url] = /^listening on (http:.*)$/.exec(line) ?? [];
      if (url) {
        server.stdout.resume();
        return new Server(server, url);
      }
    }
    throw new Error(`${PROGRAM} ended before it listened`);
  }

  /** Starts it again where it was. */
  async startAgain() {
    const { process } = await Server.start("--listen", new URL(this.url).host);
    this.process = process;
  }

  /** Ends it whatever it is doing. */
  async kill() {
    const ended = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await ended;
  }

  /** Ends it as an administrator would, and expects that it ends well. */
  async stop() {
    if (this.process.exitCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGTERM");
    const [status] = await ended;
    assert.equal(status, 0);
  }
}
