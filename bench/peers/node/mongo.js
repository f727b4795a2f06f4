import http from 'node:http';
import { readFileSync } from 'node:fs';

import { MongoClient, ObjectId } from 'mongodb';

const [address, uri] = process.argv.slice(2);
if (uri === undefined) {
  throw new Error('usage: node mongo.js ADDRESS MONGODB_URI');
}
const [host, port] = address.split(':');

const office = JSON.parse(readFileSync(new URL('../office.json', import.meta.url)));
const offices = new MongoClient(uri).db().collection('offices');

function answer(response, status, contentType, body) {
  response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

const answerJson = (response, value) => answer(response, 200, 'application/json', JSON.stringify(value));
const answerText = (response, status, text) => answer(response, status, 'text/plain', text);

async function find(response, id) {
  if (!ObjectId.isValid(id)) {
    answerText(response, 400, 'no such id');
    return;
  }
  const found = await offices.findOne({ _id: new ObjectId(id) });
  if (found === null) {
    answerText(response, 404, 'not found');
  } else {
    answerJson(response, found);
  }
}

const FIND = '/mongo/office/';

const server = http.createServer((request, response) => {
  if (request.url === '/') {
    answerText(response, 200, 'Hello, World!');
  } else if (request.url === '/office/json') {
    answerJson(response, office);
  } else if (request.url.startsWith(FIND)) {
    find(response, request.url.slice(FIND.length)).catch((error) => answerText(response, 503, String(error)));
  } else {
    answerText(response, 404, 'not found');
  }
});
server.listen({ host, port: Number(port), backlog: 4096 });
