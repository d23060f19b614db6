import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { type AccountId, accountIdSchema } from '@hookferry/core/domain/account';
import { createClosables } from '@hookferry/core/testing/closables';
import { uniqueAccountId } from '@hookferry/core/testing/unique-ids';
import express, { type Response } from 'express';
import { LongAnswers, UnreadAnswers } from './long-requests';

async function* parts() {
  yield 1;
  yield 2;
}

function atMost(most: number) {
  const longAnswers = new LongAnswers();
  return <Part>(accountId: AccountId, ofAnswer: AsyncIterable<Part>) =>
    longAnswers.limit({ operation: 'export', accountId, most }, ofAnswer);
}

it('lets an account have so many at the same time, and refuses more until one of them has ended', async () => {
  const limitAtOnce = atMost(2);
  const accountId = uniqueAccountId();
  const [first, second] = [limitAtOnce(accountId, parts()), limitAtOnce(accountId, parts())];
  await first.next();
  await second.next();
  const refused = limitAtOnce(accountId, parts()).next();
  await expect(refused).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 10_000 });
  expect(await limitAtOnce(uniqueAccountId(), parts()).next()).toEqual({ value: 1, done: false });

  await first.return();
  expect(await limitAtOnce(accountId, parts()).next()).toEqual({ value: 1, done: false });
  await expect(limitAtOnce(accountId, parts()).next()).rejects.toMatchObject({ code: 'rate_limited' });
});

it('has room again after one that failed or came to its end', async () => {
  const limitAtOnce = atMost(1);
  const accountId = uniqueAccountId();
  async function* failing() {
    yield await Promise.reject<number>(new Error('no luck'));
  }
  await expect(limitAtOnce(accountId, failing()).next()).rejects.toThrow('no luck');
  for (let i = 0; i < 2; i += 1) {
    const all: number[] = [];
    for await (const part of limitAtOnce(accountId, parts())) all.push(part);
    expect(all).toEqual([1, 2]);
  }
});

describe('unread answers', () => {
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
});
