import cluster from 'node:cluster';
import http from 'node:http';

import { WebSocketServer } from 'ws';

const [address, processes] = process.argv.slice(2);
if (processes === undefined) {
  throw new Error('usage: node server.js ADDRESS PROCESSES');
}
const [host, port] = address.split(':');

// Those who have joined each topic, in this process: processes of a cluster share none.
const topics = new Map();

function echo(socket) {
  socket.on('message', (message, binary) => socket.send(message, { binary }));
}

function converse(socket, name) {
  const members = topics.get(name) ?? new Set();
  topics.set(name, members.add(socket));
  socket.on('close', () => members.delete(socket));
  socket.on('message', (message, binary) => {
    for (const member of members) {
      member.send(message, { binary });
    }
  });
}

function serve() {
  const server = http.createServer((_, response) => response.end());
  const sockets = new WebSocketServer({ server, perMessageDeflate: true });
  sockets.on('connection', (socket, request) => {
    socket.on('error', () => socket.terminate());
    const topic = request.url.match(/^\/ws\/topic\/(.+)$/);
    if (topic) {
      converse(socket, topic[1]);
    } else {
      echo(socket);
    }
  });
  server.listen({ host, port: Number(port), backlog: 4096 });
}

if (processes === '1') {
  serve();
} else if (cluster.isPrimary) {
  for (let count = Number(processes); count > 0; count -= 1) {
    cluster.fork();
  }
} else {
  serve();
}
