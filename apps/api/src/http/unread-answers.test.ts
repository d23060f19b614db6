import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { accountIdSchema } from '@hookferry/core/model/event';
import { createClosables } from '@hookferry/core/testing/closables';
import express, { type Response } from 'express';
import { UnreadAnswers } from './unread-answers';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

it('does not count an answer whose client has gone before it was made', async () => {
  const accountId = accountIdSchema.parse('one');
  const unread = new UnreadAnswers();
  const app = express();
  const asked = new Promise<Response>((resolve) => app.get('/', (_request, response) => resolve(response)));
  const server = app.listen(0, '127.0.0.1');
  willClose({ close: () => void server.close() });
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const response = await asked;
  const closed = once(response, 'close');
  socket.destroy();
  await closed;
  unread.note(accountId, 1_000_000, response);
  expect(unread.of(accountId)).toBe(0);
});
