// A WebSocket client that others wrote, for Node.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";

import WebSocket from "ws";

import { Server } from "./server.mjs";

let server;

before(async () => {
  server = await Server.example("18_websocket_echo");
});

after(() => server.stop());

async function connect(options) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/echo`, options);
  await once(socket, "open");
  return socket;
}

async function received(socket) {
  const [data, isBinary] = await once(socket, "message");
  return isBinary ? data : data.toString();
}

for (const perMessageDeflate of [false, true]) {
  test(`messages come back, ${perMessageDeflate ? "compressed" : "plain"}`, async () => {
    const socket = await connect({ perMessageDeflate });
    assert.equal(socket.extensions, perMessageDeflate ? "permessage-deflate" : "");
    for (const message of ["", "text", "ä".repeat(50_000), Buffer.alloc(0), randomBytes(500_000)]) {
      socket.send(message);
      assert.deepEqual(await received(socket), message);
    }
    socket.send("frag", { fin: false });
    socket.ping("between");
    socket.send("ments", { fin: true });
    const [[payload], text] = await Promise.all([once(socket, "pong"), received(socket)]);
    assert.equal(payload.toString(), "between");
    assert.equal(text, "fragments");
    socket.close(3001, "done");
    const [code, reason] = await once(socket, "close");
    assert.deepEqual([code, reason.toString()], [3001, "done"]);
  });
}

test("a message over the limit is told with 1009", async () => {
  const socket = await connect({ perMessageDeflate: false });
  socket.send(Buffer.alloc(2 * 1024 * 1024));
  const [code] = await once(socket, "close");
  assert.equal(code, 1009);
});
