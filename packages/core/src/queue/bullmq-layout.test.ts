import { Queue, Worker } from 'bullmq';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { createJobKeys, DELAYED_SCORE, jobFields, PRIORITY_SCORE } from './bullmq-layout';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const QUEUE = 'deliveries';
const TOKEN = 'token';
const LOCK_MS = 30_000;

/** A queue as BullMQ leaves it, a worker that takes jobs by hand, and where we believe to find what. */
async function arrange() {
  const { client } = willClose(await openTestRedis());
  const queue = willClose(new Queue(QUEUE, { connection: client }));
  const worker = willClose(new Worker(QUEUE, null, { connection: client, lockDuration: LOCK_MS }));
  await queue.waitUntilReady();
  return { client, queue, worker, keys: createJobKeys('bull', QUEUE) };
}

it('has jobs without a priority in a list, the next one at its right', async () => {
  const { client, queue, keys } = await arrange();
  for (const jobId of ['first', 'second']) await queue.add('d', {}, { jobId });
  expect(await client.lrange(keys.wait, 0, -1)).toEqual(['second', 'first']);
});

it('has those with one in a sorted set, by priority and then by when they came', async () => {
  const { client, queue, keys } = await arrange();
  for (const jobId of ['first', 'second']) await queue.add('d', {}, { jobId, priority: 7 });
  expect(await client.zrange(keys.prioritized, '0', '-1', 'WITHSCORES')).toEqual([
    'first',
    String(7 * PRIORITY_SCORE + 1),
    'second',
    String(7 * PRIORITY_SCORE + 2),
  ]);
  expect(await client.get(keys.priorityCounter)).toBe('2');
});

it('has delayed jobs in a sorted set, by when they are due', async () => {
  const { client, queue, keys } = await arrange();
  const timestamp = 1_900_000_000_000;
  for (const jobId of ['first', 'second']) await queue.add('d', {}, { jobId, timestamp, delay: 5_000 });
  const dueAt = (timestamp + 5_000) * DELAYED_SCORE;
  expect(await client.zrange(keys.delayed, '0', '-1', 'WITHSCORES')).toEqual([
    'first',
    String(dueAt),
    'second',
    String(dueAt + 1),
  ]);
});

it('wakes idle workers by a marker; that the queue is paused says its meta', async () => {
  const { client, queue, keys } = await arrange();
  await queue.add('d', {}, { jobId: 'first' });
  expect(await client.zrange(keys.marker, '0', '-1', 'WITHSCORES')).toEqual(['0', '0']);
  expect(await client.hexists(keys.meta, 'paused')).toBe(0);
  await queue.pause();
  expect(await client.hexists(keys.meta, 'paused')).toBe(1);
});

it('has a job that a worker is at in a list, and its lock beside it', async () => {
  const { client, queue, worker, keys } = await arrange();
  await queue.add('d', {}, { jobId: 'one' });
  await worker.getNextJob(TOKEN, { block: false });
  expect(await client.lrange(keys.active, 0, -1)).toEqual(['one']);
  expect(await client.get(keys.lock('one'))).toBe(TOKEN);
  expect(await client.pttl(keys.lock('one'))).toBeGreaterThan(LOCK_MS / 2);
});

it('marks what looks stalled in a set, and counts on the job how often it was', async () => {
  const { client, queue, worker, keys } = await arrange();
  await queue.add('d', {}, { jobId: 'one' });
  await worker.getNextJob(TOKEN, { block: false });
  await client.del(keys.lock('one'));
  await client.sadd(keys.stalled, 'one');
  const connection = client.duplicate({ maxRetriesPerRequest: null });
  willClose({ close: () => connection.disconnect() });
  const checking = willClose(
    new Worker(QUEUE, async () => {}, { connection, autorun: false, stalledInterval: 50 }),
  );
  const stalled = new Promise((resolve) => checking.once('stalled', resolve));
  await checking.startStalledCheckTimer();
  expect(await stalled).toBe('one');
  expect(await client.hget(keys.job('one'), jobFields.stalledCount)).toBe('1');
});

it('has what we read of a job in these fields of its hash', async () => {
  const { client, queue, worker, keys } = await arrange();
  await queue.add('d', { account_id: 'acc' }, { jobId: 'one' });
  const job = await worker.getNextJob(TOKEN, { block: false });
  await job?.moveToFailed(new Error('no luck'), TOKEN);
  const { name, data, failedReason, attemptsMade } = jobFields;
  expect(await client.hmget(keys.job('one'), name, data, failedReason, attemptsMade)).toEqual([
    'd',
    '{"account_id":"acc"}',
    'no luck',
    '1',
  ]);
  expect(await client.zrange(keys.failed, '0', '-1')).toEqual(['one']);
});

it('tells what happens in a stream', async () => {
  const { client, queue, keys } = await arrange();
  await queue.add('d', {}, { jobId: 'one' });
  const events = (await client.xrange(keys.events, '-', '+')).map(([, fields]) => fields);
  expect(events).toContainEqual(['event', 'waiting', 'jobId', 'one']);
});
