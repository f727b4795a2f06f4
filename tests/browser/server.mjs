// Starting and stopping the `tayet` program.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const TARGET = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, "target");
const BUILT = path.join(TARGET, process.env.TAYET_BROWSER_PROFILE ?? "debug");
const PROGRAM = path.join(BUILT, "tayet");

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

  /** Starts one of the numbered examples on a free port and waits until it listens. */
  static async example(name) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const example = spawn(path.join(BUILT, "examples", name), { env: { ...process.env, PORT: port }, stdio: "ignore" });
    await once(example, "spawn");
    while (!(await fetch(url).then(() => true, () => false))) {
      assert.equal(example.exitCode, null, `${name} ended before it listened`);
      await setTimeout(10);
    }
    return new Server(example, url);
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

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return String(port);
}
