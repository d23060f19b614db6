import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createClosables } from '@hookferry/core/testing/closables';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import type { Response } from 'express';
import { UnreadAnswers } from './unread-answers';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const MIB = 1024 * 1024;

/** A response that waits to be written, and its client. */
async function openResponse() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  willClose({ close: () => void server.close() });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  willClose({ close: () => socket.destroy() });
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  return { socket, response: response as Response };
}

it('counts an answer until its client is gone', async () => {
  const { socket, response } = await openResponse();
  const unread = new UnreadAnswers();
  const accountId = uniqueAccountId();
  unread.note(accountId, 30 * MIB, response);
  expect(() => unread.requireRoom(accountId, 3 * MIB)).toThrow('would wait to be read');
  const closed = once(response, 'close');
  socket.destroy();
  await closed;
  expect(unread.of(accountId)).toBe(0);
});

it('does not count an answer whose client was gone before it was made', async () => {
  const { socket, response } = await openResponse();
  const closed = once(response, 'close');
  socket.destroy();
  await closed;
  const unread = new UnreadAnswers();
  const accountId = uniqueAccountId();
  unread.note(accountId, 30 * MIB, response);
  expect(unread.of(accountId)).toBe(0);
});
