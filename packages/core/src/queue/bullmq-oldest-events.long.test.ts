import { eventJobId } from '@hookferry/producer/contract';
import { Queue, Worker } from 'bullmq';
import type { AccountId } from '../domain/account';
import type { EventId } from '../domain/event';
import { EVENTS_QUEUE, oneShard } from '../domain/queues';
import { createNewId } from '../platform/ids';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId } from '../testing/unique-ids';
import { OldestEvents } from './bullmq-oldest-events';
import { PushedEvents } from './bullmq-pushed-events';

const NOW = 1_700_000_000_000;

const { willClose, closeAll } = createClosables();
let redis: TestRedis;
let queue: Queue;
let oldestEvents: OldestEvents;
let now: number;
const shard = { prefix: 'bull' };
const newId = createNewId(() => now);
beforeEach(async () => {
  now = NOW;
  redis = willClose(await openTestRedis());
  queue = willClose(new Queue(EVENTS_QUEUE, { connection: redis.client }));
  oldestEvents = new OldestEvents(redis.client, oneShard('bull'));
});
afterEach(closeAll);

interface Published {
  readonly accountId: AccountId;
  readonly id: EventId;
  readonly acceptedAt: number;
}

const accountId = uniqueAccountId();

function accept(account = accountId): Published {
  now += 1;
  return { accountId: account, id: newId('evt') as EventId, acceptedAt: now };
}

async function enqueue({ accountId: account, id, acceptedAt }: Published): Promise<void> {
  await queue.add('brief.created', {}, { jobId: eventJobId(account, id), timestamp: acceptedAt });
}

/** Takes the next job, and keeps it. */
async function takeNext(): Promise<void> {
  const worker = willClose(new Worker(EVENTS_QUEUE, null, { connection: redis.client, autorun: false }));
  await worker.getNextJob('a-worker');
}

it('has nothing older when the queue is empty, or holds what is younger', async () => {
  const head = accept();
  expect(await oldestEvents.hasOlder(head)).toBe(false);
  await enqueue(accept());
  expect(await oldestEvents.hasOlder(head)).toBe(false);
});

it('does not mistake the event itself for an older one', async () => {
  const head = accept();
  await enqueue(head);
  expect(await oldestEvents.hasOlder(head)).toBe(false);
});

it('sees an older one that waits, behind and before younger ones', async () => {
  const [older, head] = [accept(), accept()];
  await enqueue(accept());
  await enqueue(older);
  await enqueue(accept());
  expect(await oldestEvents.hasOlder(head)).toBe(true);
});

it('sees an older one of the same millisecond by its id', async () => {
  const older = accept();
  const head = { ...older, id: newId('evt') as EventId };
  await enqueue(older);
  await enqueue(head);
  expect(await oldestEvents.hasOlder(head)).toBe(true);
  expect(await oldestEvents.hasOlder(older)).toBe(false);
});

it('sees an older one that a worker runs, dead or alive', async () => {
  const [older, head] = [accept(), accept()];
  await enqueue(older);
  await takeNext();
  await enqueue(accept());
  expect(await queue.getActiveCount()).toBe(1);
  expect(await oldestEvents.hasOlder(head)).toBe(true);
});

it('sees an older one on a queue that is paused', async () => {
  const [older, head] = [accept(), accept()];
  await queue.pause();
  await enqueue(older);
  expect(await oldestEvents.hasOlder(head)).toBe(true);
});

it('leaves other accounts alone', async () => {
  const [others, head] = [accept(uniqueAccountId()), accept()];
  await enqueue(others);
  expect(await oldestEvents.hasOlder(head)).toBe(false);
});

it.each([
  ['before', -1, true],
  ['in the same millisecond', 0, true],
  ['after', 1, false],
])('goes by when a job under an id of its own was added: %s', async (_when, offsetMs, expected) => {
  const head = accept();
  await queue.add('brief.created', {}, { timestamp: head.acceptedAt + offsetMs });
  expect(await oldestEvents.hasOlder(head)).toBe(expected);
});

it('goes by time also for an event whose id its producer made', async () => {
  const older = accept();
  const head = { ...accept(), id: 'order-17' as EventId };
  await enqueue(accept());
  expect(await oldestEvents.hasOlder(head)).toBe(false);
  await enqueue(older);
  expect(await oldestEvents.hasOlder(head)).toBe(true);
});

it('sees an older one that has a priority', async () => {
  const head = accept();
  await queue.add('brief.created', {}, { timestamp: NOW, priority: 7 });
  expect(await oldestEvents.hasOlder(head)).toBe(true);
});

it('does not wait for what a producer has put off', async () => {
  const head = accept();
  await queue.add('brief.created', {}, { timestamp: NOW, delay: 3_600_000 });
  expect(await oldestEvents.hasOlder(head)).toBe(false);
});

it('sees an older one that was put back, until it is done', async () => {
  const [older, head] = [accept(), accept()];
  const jobId = eventJobId(older.accountId, older.id);
  await queue.add('brief.created', {}, { jobId, timestamp: older.acceptedAt, delay: 1_000 });
  expect(await oldestEvents.hasOlder(head)).toBe(false);
  await oldestEvents.notePutBack(shard, { id: jobId, accountId, addedAt: older.acceptedAt });
  expect(await oldestEvents.hasOlder(head)).toBe(true);
  expect(await oldestEvents.hasOlder(older)).toBe(false);
  await oldestEvents.forgetPutBack(shard, { id: jobId, accountId });
  expect(await oldestEvents.hasOlder(head)).toBe(false);
});

it.each([
  ['the account’s own', accountId, true],
  ['another account’s', uniqueAccountId(), false],
  ['one without an account', undefined, false],
])(
  'waits for a producer’s job that was put back only if it is its account’s: %s',
  async (_whose, whose, expected) => {
    const head = accept();
    const { id = '' } = await queue.add('brief.created', {}, { timestamp: NOW, delay: 1_000 });
    await oldestEvents.notePutBack(shard, { id, accountId: whose, addedAt: NOW });
    expect(await oldestEvents.hasOlder(head)).toBe(expected);
  },
);

it('sees its own among any number of others’ that were put back before it', async () => {
  const others = uniqueAccountId();
  const names = Array.from({ length: 501 }, () => ({
    name: 'brief.created',
    data: {},
    opts: { delay: 1_000 },
  }));
  for (const { id = '' } of await queue.addBulk(names)) {
    await oldestEvents.notePutBack(shard, { id, accountId: others, addedAt: NOW });
  }
  const [older, head] = [accept(), accept()];
  expect(await oldestEvents.hasOlder(head)).toBe(false);
  const jobId = eventJobId(accountId, older.id);
  await queue.add('brief.created', {}, { jobId, timestamp: older.acceptedAt, delay: 1_000 });
  await oldestEvents.notePutBack(shard, { id: jobId, accountId, addedAt: older.acceptedAt });
  expect(await oldestEvents.hasOlder(head)).toBe(true);
});

it('does not wait for one that was put back and then taken away', async () => {
  const [older, head] = [accept(), accept()];
  const id = eventJobId(older.accountId, older.id);
  await oldestEvents.notePutBack(shard, { id, accountId, addedAt: older.acceptedAt });
  expect(await oldestEvents.hasOlder(head)).toBe(false);
  expect(await queue.getJob(id)).toBeUndefined();
});

it('does not wait for one that was put back and then failed for good', async () => {
  const [older, head] = [accept(), accept()];
  await enqueue(older);
  const id = eventJobId(older.accountId, older.id);
  await oldestEvents.notePutBack(shard, { id, accountId, addedAt: older.acceptedAt });
  const worker = willClose(new Worker(EVENTS_QUEUE, null, { connection: redis.client, autorun: false }));
  const job = await worker.getNextJob('a-worker');
  await job?.moveToFailed(new Error('No luck.'), 'a-worker');
  expect(await queue.getFailedCount()).toBe(1);
  expect(await oldestEvents.hasOlder(head)).toBe(false);
});

describe('where more are in the fair order than it looks at', () => {
  async function enqueueInOrder(events: readonly Published[]): Promise<void> {
    const jobs = events.map(({ accountId: account, id, acceptedAt }) => ({
      name: 'brief.created',
      data: { account_id: account },
      opts: { jobId: eventJobId(account, id), timestamp: acceptedAt },
    }));
    await queue.addBulk(jobs);
    await new PushedEvents({ redis: redis.client, prefix: 'bull' }, 0).sort();
  }
  const many = (count: number, account?: AccountId) => Array.from({ length: count }, () => accept(account));
  /** One of each of so many accounts, which go before the next ones of any. */
  const crowd = (count: number) => Array.from({ length: count }, () => accept(uniqueAccountId()));

  it('does not wait for others’ events', async () => {
    await enqueueInOrder(many(600, uniqueAccountId()));
    expect(await oldestEvents.hasOlder(accept())).toBe(false);
  });

  it.each([
    ['others’', uniqueAccountId(), false],
    ['the account’s own', accountId, true],
  ])('knows the accounts of producers’ jobs: %s', async (_whose, whose, expected) => {
    const bulk = Array.from({ length: 600 }, () => ({
      name: 'brief.created',
      data: { account_id: whose },
      opts: { timestamp: NOW },
    }));
    await queue.addBulk(bulk);
    await new PushedEvents({ redis: redis.client, prefix: 'bull' }, 0).sort();
    expect(await oldestEvents.hasOlder(accept())).toBe(expected);
  });

  it('does not rely on what a large job’s data has before its account', async () => {
    const head = accept();
    const data = { data: { account_id: 'customer_7', text: 'x'.repeat(5_000) }, account_id: accountId };
    await queue.add('brief.created', data, { timestamp: NOW });
    await new PushedEvents({ redis: redis.client, prefix: 'bull' }, 0).sort();
    expect(await oldestEvents.hasOlder(head)).toBe(true);
  });

  it('assumes an older one if the account has some behind those', async () => {
    const [older, head] = [accept(), accept()];
    await enqueueInOrder([...crowd(600), older]);
    expect(await oldestEvents.hasOlder(head)).toBe(true);
  });

  // Or a delivery would be held for as long as its account goes on publishing.
  it('does not wait for the account’s younger ones, of which it sees the first', async () => {
    const head = accept();
    await enqueueInOrder(many(600));
    expect(await oldestEvents.hasOlder(head)).toBe(false);
  });
});

it('assumes an older one where more wait than it reads, and all that it reads are older', async () => {
  const others = uniqueAccountId();
  const bulk = Array.from({ length: 501 }, () => accept(others));
  const head = accept();
  const jobs = bulk.map(({ id, acceptedAt }) => ({
    name: 'brief.created',
    data: {},
    opts: { jobId: eventJobId(others, id), timestamp: acceptedAt },
  }));
  await queue.addBulk(jobs);
  expect(await oldestEvents.hasOlder(head)).toBe(true);
  expect(await oldestEvents.hasOlder({ ...head, id: 'evt_0' as EventId, acceptedAt: NOW })).toBe(false);
});
