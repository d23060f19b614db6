import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createClosables } from '@hookferry/core/testing/closables';
import express from 'express';
import request from 'supertest';
import { readProblem } from '../testing/read-problem';
import { createHttpServer } from './http-server';
import { answerProblems } from './problem';
import { refuseBadHead } from './refuse-bad-head';
import { requestId } from './request-id';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const app = express()
  .use(
    requestId((prefix) => `${prefix}_1`),
    refuseBadHead,
  )
  .use((_request, response) => void response.json({}))
  .use(answerProblems(() => {}));

const pathOf = (length: number) => `/${'x'.repeat(length - 1)}`;

// What the client sends by itself: host, accept-encoding, connection.
const OWN_HEADERS = 3;
const headers = (count: number) =>
  Object.fromEntries(Array.from({ length: count - OWN_HEADERS }, (_, at) => [`x-${at}`, '1']));

async function sendRaw(bytes: string): Promise<string> {
  const server = willClose(
    createHttpServer(app, { maxConnections: 1, newId: () => 'req_1', emit: () => {} }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

describe('the head of a request', () => {
  it('may have a URL of 8 KiB, and is refused with 414 beyond', async () => {
    expect((await request(app).get(pathOf(8_192))).status).toBe(200);
    const refused = await request(app).get(pathOf(8_193));
    expect(readProblem(refused)).toEqual({ status: 414, code: 'uri_too_long' });
  });

  it('has a Host, or is refused with 400 (but for HTTP/1.0)', async () => {
    const hostless = await sendRaw('GET / HTTP/1.1\r\nconnection: close\r\n\r\n');
    expect(hostless).toContain('400 Bad Request');
    expect(hostless).toContain('"code":"malformed_request"');
    expect(await sendRaw('GET / HTTP/1.0\r\n\r\n')).toContain('200 OK');
  });

  it('may have 100 headers, and is refused with 431 beyond', async () => {
    expect((await request(app).get('/').set(headers(100))).status).toBe(200);
    const refused = await request(app).get('/').set(headers(101));
    expect(readProblem(refused)).toEqual({ status: 431, code: 'headers_too_large' });
  });
});
