import { setTimeout as wait } from 'node:timers/promises';
import { keys } from '../domain/keys';
import { connectRedis } from '../platform/redis-connect';
import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { signalSamples } from '../testing/signal-samples';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId } from '../testing/unique-ids';
import { ChangeFeed, KNOWN_FOR_MS } from './change-feed';
import { ChangeReader, type StreamMessage } from './change-reader';
import { WatchedAccount } from './change-streams';
import { ChangeStore, KEPT_CHANGES } from './redis-change-store';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** A process that follows an account, and one that changes something there. */
function build() {
  const accountId = uniqueAccountId();
  const time = { now: 0 };
  const signals = recordSignals();
  const changeStore = new ChangeStore(redis.client);
  const process = () => new WatchedAccount({ accountId, changeStore, clock: () => time.now });
  const feed = new ChangeFeed({ changeStore, gatherMs: 10, clock: Date.now, emit: signals.listen });
  willClose({ close: () => feed.stop() });
  const account = process();
  return { accountId, changeStore, account, process, feed, signals, time };
}

function follow(account: WatchedAccount, after?: string) {
  const reader = new ChangeReader({ endpointId: undefined, after, onEnd: () => {} });
  account.add(reader);
  return reader;
}

/** The messages that it has got so far. */
async function messagesTo(reader: ChangeReader): Promise<StreamMessage[]> {
  const messages = reader.messages();
  reader.end('stopping');
  const got: StreamMessage[] = [];
  for await (const message of messages) got.push(message);
  return got.slice(0, -1);
}

function shortOf(messages: readonly StreamMessage[]): string[] {
  return messages.map((message) => (message.kind === 'change' ? message.change.kind : message.kind));
}

const created = (accountId: ReturnType<typeof uniqueAccountId>) => ({
  ...signalSamples['endpoint.created'],
  accountId,
});

async function untilWritten(accountId: ReturnType<typeof uniqueAccountId>, length: number): Promise<void> {
  while ((await redis.client.xlen(keys.changes(accountId))) < length) await wait(10);
}

it('tells that it is ready once every process knows, and from then on every change', async () => {
  const { accountId, account, feed, time } = build();
  const reader = follow(account);
  await account.step(false);
  expect(reader.isReady).toBe(false);
  time.now += KNOWN_FOR_MS;
  await account.step(false);
  expect(reader.isReady).toBe(true);
  feed.listen(created(accountId));
  feed.listen({ ...signalSamples['delivery.attempted'], accountId });
  await untilWritten(accountId, 3);
  await account.step(false);
  expect(shortOf(await messagesTo(reader))).toEqual(['ready', 'webhook', 'delivery']);
});

it('writes nothing for an account that nobody follows, whatever happens there', async () => {
  const { accountId, account, feed } = build();
  follow(account);
  await account.step(false);
  const other = uniqueAccountId();
  feed.listen(created(other));
  feed.listen(created(accountId));
  await untilWritten(accountId, 2);
  expect(await redis.client.exists(keys.changes(other))).toBe(0);
});

it('goes on at once where a reader was, at another process', async () => {
  const { accountId, account, process, changeStore, time } = build();
  const before = follow(account);
  await account.step(false);
  time.now += KNOWN_FOR_MS;
  await account.step(false);
  const [ready] = await messagesTo(before);
  await changeStore.append(accountId, [
    { kind: 'webhook', change: 'updated', endpointId: signalSamples['endpoint.updated'].endpointId },
  ]);
  const elsewhere = process();
  const reader = follow(elsewhere, ready?.kind === 'ready' ? ready.id : '');
  await elsewhere.step(false);
  expect(shortOf(await messagesTo(reader))).toEqual(['ready', 'webhook']);
});

it('says that something is missing to who comes back too late', async () => {
  const { account, time } = build();
  const reader = follow(account, '1-1');
  await account.step(false);
  time.now += KNOWN_FOR_MS;
  await account.step(false);
  expect(shortOf(await messagesTo(reader))).toEqual(['ready', 'reset']);
});

it.each<[string, (accountId: ReturnType<typeof uniqueAccountId>) => Promise<unknown>]>([
  ['has lost its changes', (accountId) => redis.client.del(keys.changes(accountId))],
  ['has forgotten that it is watched', () => redis.client.del(keys.watchedAccounts)],
  ['has lost everything', () => redis.client.flushdb()],
])('says that something is missing when Redis %s, once all processes know again', async (_what, lose) => {
  const { accountId, account, time } = build();
  const reader = follow(account);
  await account.step(false);
  time.now += KNOWN_FOR_MS;
  await account.step(false);
  await lose(accountId);
  // It is renewed now and then.
  await account.step(true);
  await account.step(false);
  time.now += KNOWN_FOR_MS - 1;
  await account.step(false);
  time.now += 1;
  await account.step(false);
  await account.step(false);
  expect(shortOf(await messagesTo(reader))).toEqual(['ready', 'reset']);
  expect(await redis.client.zscore(keys.watchedAccounts, accountId)).not.toBeNull();
});

it('says that something is missing when more came than is kept', async () => {
  const { accountId, account, changeStore, time } = build();
  const reader = follow(account);
  await account.step(false);
  time.now += KNOWN_FOR_MS;
  await account.step(false);
  const change = {
    kind: 'webhook',
    change: 'updated',
    endpointId: signalSamples['endpoint.updated'].endpointId,
  } as const;
  await changeStore.append(
    accountId,
    Array.from({ length: 2 * KEPT_CHANGES }, () => change),
  );
  expect(await redis.client.xlen(keys.changes(accountId))).toBeLessThan(1.2 * KEPT_CHANGES);
  await account.step(false);
  await account.step(false);
  time.now += KNOWN_FOR_MS;
  await account.step(false);
  expect(shortOf(await messagesTo(reader))).toEqual(['ready', 'reset']);
});

it('asks who is watched when something has happened, and once for all that happens within moments', async () => {
  const { accountId, changeStore } = build();
  const readWatched = jest.spyOn(changeStore, 'readWatched');
  const feed = new ChangeFeed({ changeStore, gatherMs: 10, clock: Date.now, emit: () => {} });
  await feed.stop();
  expect(readWatched).not.toHaveBeenCalled();
  for (let i = 0; i < 100; i += 1) feed.listen(created(accountId));
  feed.listen(signalSamples['request.completed']);
  await feed.stop();
  expect(readWatched).toHaveBeenCalledTimes(1);
});

it('keeps a bounded number of signals while nobody knows who is watched, and says what is missing', async () => {
  const { accountId, account, changeStore, time } = build();
  const away = jest.spyOn(changeStore, 'readWatched').mockRejectedValue(new Error('away'));
  const signals = recordSignals();
  const feed = new ChangeFeed({ changeStore, gatherMs: 10, clock: Date.now, emit: signals.listen });
  willClose({ close: () => feed.stop() });
  const reader = follow(account);
  await account.step(false);
  time.now += KNOWN_FOR_MS;
  await account.step(false);
  for (let i = 0; i < 1_001; i += 1) feed.listen(created(accountId));
  await signals.first('task.failed');
  away.mockRestore();
  const last = async () =>
    (await redis.client.xrevrange(keys.changes(accountId), '+', '-', 'COUNT', 1))[0]?.[1][1];
  while ((await last()) !== '{"kind":"reset"}') await wait(10);
  await account.step(false);
  expect(shortOf(await messagesTo(reader)).at(-1)).toBe('reset');
});

it('says that something is missing when a change could not be written', async () => {
  const { accountId, account, signals, time } = build();
  const url = redis.url;
  const client = connectRedis({ url, role: 'answering', name: 'test', emit: signals.listen });
  willClose({ close: () => client.disconnect() });
  const changeStore = new ChangeStore(client);
  const append = changeStore.append.bind(changeStore);
  const away = jest.spyOn(changeStore, 'append').mockImplementation(async (...args) => {
    client.disconnect(true);
    await append(...args);
  });
  const feed = new ChangeFeed({ changeStore, gatherMs: 10, clock: Date.now, emit: signals.listen });
  willClose({ close: () => feed.stop() });
  const reader = follow(account);
  await account.step(false);
  while (client.status !== 'ready') await wait(10);
  time.now += KNOWN_FOR_MS;
  await account.step(false);
  feed.listen(created(accountId));
  await signals.first('task.failed');
  away.mockRestore();
  await untilWritten(accountId, 2);
  await account.step(false);
  expect(shortOf(await messagesTo(reader))).toEqual(['ready', 'reset']);
});

it('leaves nothing behind for long', async () => {
  const { accountId, account } = build();
  follow(account);
  await account.step(false);
  expect(await redis.client.pttl(keys.changes(accountId))).toBeGreaterThan(0);
  expect(await redis.client.pttl(keys.watchedAccounts)).toBeGreaterThan(0);
});
