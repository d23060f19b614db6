import { setImmediate as immediate } from 'node:timers/promises';
import { DELIVERIES_QUEUE } from '@hookferry/core/domain/queues';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { connectRedis } from '@hookferry/core/platform/redis-connect';
import { buildAtomic } from '@hookferry/core/testing/build-atomic';
import { createClosables } from '@hookferry/core/testing/closables';
import { recordSignals } from '@hookferry/core/testing/record-signals';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import { type Job, Queue, UnrecoverableError } from 'bullmq';
import { Redis, ReplyError } from 'ioredis';
import { SharedCapacity } from '../capacity';
import { openTestQueues } from '../testing/open-test-queues';
import { openWorker } from './bullmq-open-worker';

describe('bullmq open worker', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  /** A worker on a queue of its own, and what it announces. */
  async function startWorker(process: (job: Job) => Promise<void>) {
    const { client, context, shard, signals } = willClose(await openTestQueues());
    const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    const options = { queue: DELIVERIES_QUEUE, shard, capacity: new SharedCapacity(1) };
    const worker = willClose(openWorker(context, options, process));
    return { client, queue, signals, start: () => worker.start() };
  }

  it('says that Redis is back after each time that it was away', async () => {
    const server = willClose(await startRedisServer());
    const client = new Redis(server.url, { maxRetriesPerRequest: null });
    willClose({ close: () => client.disconnect() });
    const signals = recordSignals();
    const redis = connectRedis({ url: server.url, role: 'working', name: 'main', emit: () => {} });
    willClose({ close: () => redis.disconnect() });
    const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    const context = { redis, atomic: createAtomic(redis), lockDurationMs: 30_000, emit: signals.listen };
    const options = { queue: DELIVERIES_QUEUE, shard: { prefix: 'bull' }, capacity: new SharedCapacity(1) };
    const done = { count: 0 };
    const worker = willClose(openWorker(context, options, async () => void (done.count += 1)));
    const doOne = async () => {
      const before = done.count;
      await queue.add('d', {});
      while (done.count === before) await immediate();
    };
    worker.start();
    await doOne();
    expect(signals.named('redis.back')).toEqual([]);
    for (const times of [1, 2]) {
      const errors = signals.named('redis.error').length;
      // It lets nobody in again.
      await client.config('SET', 'requirepass', 'secret');
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      while (signals.named('redis.error').length === errors) await immediate();
      await client.config('SET', 'requirepass', '');
      while (signals.named('redis.back').length < times) await doOne();
    }
    const of = ({ connection }: { readonly connection: string }) => connection;
    expect(new Set([...signals.named('redis.error'), ...signals.named('redis.back')].map(of))).toEqual(
      new Set([DELIVERIES_QUEUE]),
    );
  });

  it('calls a trouble of BullMQ by its name: Redis is not to blame for it', async () => {
    const { context, shard, signals } = willClose(await openTestQueues());
    const options = { queue: DELIVERIES_QUEUE, shard, capacity: new SharedCapacity(1) };
    const worker = willClose(openWorker(context, options, async () => {}));
    worker.emit('error', new Error('could not renew lock for job one'));
    expect(signals.named('redis.error')).toEqual([]);
    expect(await signals.first('library.warned')).toMatchObject({
      text: 'deliveries: could not renew lock for job one',
    });
  });

  it('keeps a job that failed for good, also when it says itself that it is not to be kept', async () => {
    const { queue, signals, start } = await startWorker(async () => {
      throw new UnrecoverableError('No luck.');
    });
    await queue.add('d', {}, { jobId: 'one', removeOnFail: true, attempts: 5 });
    start();
    expect(await signals.first('job.failed')).toMatchObject({
      queue: 'deliveries',
      jobId: 'one',
      isForGood: true,
    });
    expect((await queue.getFailed()).map(({ failedReason }) => failedReason)).toEqual(['No luck.']);
  });

  it.each([false, { age: 3_600 }, 1_000])(
    'keeps nothing of a job that is done, whatever it says itself: removeOnComplete %p',
    async (removeOnComplete) => {
      let isTaken = () => {};
      const taken = new Promise<void>((resolve) => {
        isTaken = resolve;
      });
      const { client, queue, start } = await startWorker(async ({ id }) => {
        if (id === 'two') isTaken();
      });
      await queue.add('d', {}, { jobId: 'one', removeOnComplete });
      await queue.add('d', {}, { jobId: 'two' });
      start();
      // It is taken with the end of the one before it.
      await taken;
      expect(await client.exists('bull:deliveries:one')).toBe(0);
      expect(await queue.getCompletedCount()).toBe(0);
    },
  );

  it('says of a job that is run again that it did not fail for good', async () => {
    const { queue, signals, start } = await startWorker(async () => {
      throw new Error('An unforeseen reply.');
    });
    await queue.add('d', {}, { attempts: 2, backoff: { type: 'fixed', delay: 60_000 } });
    start();
    expect(await signals.first('job.failed')).toMatchObject({ isForGood: false });
    expect(await queue.getFailedCount()).toBe(0);
  });

  /** How long a job waits after each time that it throws what `next` gives. Receivers have refused its delivery before. */
  async function delaysAfter(errors: readonly Error[]) {
    const left = [...errors];
    const { client, queue, start } = await startWorker(async () => {
      throw left.shift();
    });
    const job = await queue.add('d', {}, { jobId: 'one', attempts: 1_000 });
    await client.hset('bull:deliveries:one', 'atm', 20);
    start();
    const delays: number[] = [];
    for (;;) {
      while ((await queue.getDelayedCount()) === 0) await immediate();
      delays.push((await queue.getDelayed())[0]?.delay ?? 0);
      if (left.length === 0) return delays;
      await job.promote();
    }
  }

  it('runs a job again five seconds after an error that nobody has foreseen, and twice as long after each further one', async () => {
    const errors = Array.from({ length: 10 }, () => new Error('WRONGTYPE'));
    const delays = await delaysAfter(errors);
    expect(delays.slice(0, 3)).toEqual([5_000, 10_000, 20_000]);
    expect(delays.slice(-3)).toEqual([600_000, 600_000, 600_000]);
  });

  it('runs a job again five seconds after Redis has refused it, however often that was', async () => {
    const refusal = () => new ReplyError("OOM command not allowed when used memory > 'maxmemory'.");
    expect(await delaysAfter([refusal(), refusal(), refusal()])).toEqual([5_000, 5_000, 5_000]);
  });

  it('keeps the traces of a few errors, not of all', async () => {
    const { client, queue, start } = await startWorker(async () => {
      throw new Error('again');
    });
    await queue.add('d', {}, { jobId: 'one', attempts: 1_000 });
    const traces = JSON.stringify(Array.from({ length: 30 }, () => 'Error: before'));
    await client.hset('bull:deliveries:one', 'stacktrace', traces);
    start();
    while ((await queue.getDelayedCount()) === 0) await immediate();
    const kept = JSON.parse((await client.hget('bull:deliveries:one', 'stacktrace')) ?? '[]');
    expect(kept).toHaveLength(8);
    expect(kept.at(-1)).toMatch(/^Error: again/);
  });

  it('fails a job whose data is not JSON at once, as it is, and goes on with the next one', async () => {
    const processed: unknown[] = [];
    let isProcessed = () => {};
    const good = new Promise<void>((resolve) => {
      isProcessed = resolve;
    });
    const { client, queue, signals, start } = await startWorker(async ({ id }) => {
      processed.push(id);
      isProcessed();
    });
    await queue.add('d', {}, { jobId: 'broken' });
    await client.hset('bull:deliveries:broken', 'data', '{"broken');
    await queue.add('d', {}, { jobId: 'good' });
    start();
    expect(await signals.first('job.failed')).toMatchObject({ jobId: 'broken', isForGood: true });
    await good;
    expect(processed).toEqual(['good']);
    const kept = await client.hmget('bull:deliveries:broken', 'data', 'failedReason');
    expect(kept).toEqual(['{"broken', expect.stringMatching(/^Its data is not JSON: /)]);
  });
});

describe('the check for jobs with an expired lock', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  /** A worker with short locks, how often it has looked, and the jobs that it has run. */
  async function arrange() {
    const { client, context, shard } = willClose(await openTestQueues());
    const seen = { looks: 0, jobs: [] as unknown[] };
    const atomic = buildAtomic(async (steps, patienceMs) => {
      const results = await context.atomic(steps, patienceMs);
      seen.looks += 1;
      return results;
    });
    const worker = willClose(
      openWorker(
        { ...context, atomic, lockDurationMs: 400 },
        { queue: DELIVERIES_QUEUE, shard, capacity: new SharedCapacity(1) },
        async ({ id }) => void seen.jobs.push(id),
      ),
    );
    const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    return { client, queue, seen, start: () => worker.start() };
  }

  it('is not made while nobody has a job', async () => {
    const { client, seen, start } = await arrange();
    start();
    while (seen.looks < 3) await immediate();
    expect(await client.exists('bull:deliveries:stalled-check')).toBe(0);
  });

  it('finds the job of a worker that was killed', async () => {
    const { client, queue, seen, start } = await arrange();
    await queue.add('d', {}, { jobId: 'left' });
    await client.lmove('bull:deliveries:wait', 'bull:deliveries:active', 'RIGHT', 'LEFT');
    await client.set('bull:deliveries:left:lock', 'killed:1', 'PX', 100);
    start();
    while (seen.jobs.length === 0) await immediate();
    expect(seen.jobs).toEqual(['left']);
  });
});
