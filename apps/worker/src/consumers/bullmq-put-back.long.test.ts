import { DELIVERIES_QUEUE, ERASURES_QUEUE, REPLAYS_QUEUE } from '@hookferry/core/domain/queues';
import { secretUnreadable } from '@hookferry/core/endpoints/seal';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { connectRedis } from '@hookferry/core/platform/redis-connect';
import { JOB_VERSION } from '@hookferry/core/queue/bullmq-event-queue';
import { createClosables } from '@hookferry/core/testing/closables';
import { recordSignals } from '@hookferry/core/testing/record-signals';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { DelayedError, type Job, Queue, WaitingError, Worker } from 'bullmq';
import { openTestQueues } from '../testing/open-test-queues';
import { delayJob, giveJobBack, orTryAgainSoon } from './bullmq-put-back';
import { openStepwiseWorker } from './bullmq-stepwise';

describe('bullmq put back', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const TOKEN = 'mine';

  /** A job that this process has taken. */
  async function arrange() {
    const { client } = willClose(await openTestRedis());
    const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    const worker = willClose(new Worker(DELIVERIES_QUEUE, null, { connection: client }));
    await queue.add('d', {}, { jobId: 'one', attempts: 3 });
    const job: Job | undefined = await worker.getNextJob(TOKEN);
    if (!job) throw new Error('arranged otherwise');
    return {
      client,
      queue,
      job,
      state: () => job.getState(),
      readAttempts: () => client.hget(queue.toKey('one'), 'atm'),
      lock: () => client.get(queue.toKey('one:lock')),
      loseTo: (token: string) => client.set(queue.toKey('one:lock'), token),
    };
  }

  it('delays a job that is ours, without counting an attempt', async () => {
    const { job, queue, state, readAttempts, lock } = await arrange();
    await expect(delayJob(job, TOKEN, 60_000)).rejects.toThrow(DelayedError);
    expect(await state()).toBe('delayed');
    expect((await queue.getDelayed())[0]?.delay).toBeGreaterThan(50_000);
    expect(Number(await readAttempts())).toBe(0);
    expect(await lock()).toBeNull();
  });

  it('gives a job back that is ours, to be taken next', async () => {
    const { client, job, queue, state } = await arrange();
    await queue.add('d', {}, { jobId: 'two' });
    await expect(giveJobBack(job, TOKEN)).rejects.toThrow(WaitingError);
    expect(await state()).toBe('waiting');
    expect((await client.lrange(queue.toKey('wait'), 0, -1)).at(-1)).toBe('one');
  });

  it('gives a job back that has a place in the fair order, to be taken next, whichever place that was', async () => {
    const { client, queue } = await arrange();
    await queue.add('d', {}, { jobId: 'far', priority: 5_000 });
    const worker = willClose(new Worker(DELIVERIES_QUEUE, null, { connection: client }));
    const job: Job | undefined = await worker.getNextJob(TOKEN);
    if (!job) throw new Error('arranged otherwise');
    await queue.add('d', {}, { jobId: 'two', priority: 1 });
    await expect(giveJobBack(job, TOKEN)).rejects.toThrow(WaitingError);
    expect(await client.zrange(queue.toKey('prioritized'), '0', '-1')).toEqual(['far', 'two']);
  });

  it.each([
    ['a second while Redis is away', new Error('Connection is closed.'), 'unavailable', 0, 1_000],
    ['a minute while a secret is not to be read', secretUnreadable(), 'secret_unreadable', 50_000, 60_000],
    ['longer each time after a bug', new RangeError('Invalid array length'), 'other', 50_000, 64_000],
  ])('delays a job that failed for %s', async (_what, error, reason, atLeast, atMost) => {
    const { job, queue } = await arrange();
    job.attemptsStarted = 6;
    const fail = async () => {
      throw error;
    };
    const signals = recordSignals();
    await expect(orTryAgainSoon(fail, job, TOKEN, signals.listen)).rejects.toThrow(DelayedError);
    const delayMs = (await queue.getDelayed())[0]?.delay ?? Number.NaN;
    expect(delayMs).toBeGreaterThan(atLeast);
    expect(delayMs).toBeLessThanOrEqual(atMost);
    expect(signals.named('job.interrupted')).toMatchObject([{ reason, error }]);
  });

  describe.each([
    ['delayJob', (job: Job) => delayJob(job, TOKEN, 60_000), DelayedError],
    ['giveJobBack', (job: Job) => giveJobBack(job, TOKEN), WaitingError],
  ] as const)('%s', (_name, act, signal) => {
    it('leaves a job alone that another worker has taken over', async () => {
      const { job, state, lock, loseTo } = await arrange();
      await loseTo('another');
      await expect(act(job)).rejects.toThrow(signal);
      expect(await state()).toBe('active');
      expect(await lock()).toBe('another');
    });

    it('leaves a job alone whose lock is over, until somebody finds it stalled', async () => {
      const { client, queue, job, state } = await arrange();
      await client.del(queue.toKey('one:lock'));
      await expect(act(job)).rejects.toThrow(signal);
      expect(await state()).toBe('active');
    });

    it('takes it as well that the job is gone', async () => {
      const { client, queue, job } = await arrange();
      await client.del(queue.toKey('one'), queue.toKey('one:lock'));
      await expect(act(job)).rejects.toThrow(signal);
    });

    it('says when Redis has refused it', async () => {
      const { client, queue, job } = await arrange();
      await client.del(queue.toKey('active'));
      await client.set(queue.toKey('active'), 'no list');
      await expect(act(job)).rejects.toThrow('WRONGTYPE');
    });
  });
});

describe('bullmq put back for next step', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  it.each([ERASURES_QUEUE, REPLAYS_QUEUE])(
    'lets work have more steps than a job may have starts without coming to an end: %s',
    async (name) => {
      const { client, context, shard } = willClose(await openTestQueues());
      const queue = willClose(new Queue(name, { connection: client }));
      await queue.add('job', {}, { jobId: 'one' });
      await client.hset(`bull:${name}:one`, 'ats', 299_999);

      let steps = 0;
      const worker = openStepwiseWorker(context, { queue: name, shard, concurrency: 1 }, async () => {
        steps += 1;
        return steps < 3 ? { kind: 'again', delayMs: 0 } : { kind: 'done' };
      });
      willClose(worker);
      worker.start();
      while ((await queue.getJobCountByTypes('wait', 'active', 'delayed')) > 0);
      expect(steps).toBe(3);
      expect(await queue.getFailedCount()).toBe(0);
    },
  );
});

describe('a job of several steps', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  // Nobody would find an erasure that has failed for good.
  it('goes on when there is room again, if Redis was out of memory at the end of a step', async () => {
    const server = willClose(await startRedisServer());
    const { client } = willClose(await openTestRedis(server.url));
    const signals = recordSignals();
    const emit = signals.listen;
    const redis = connectRedis({ url: server.url, role: 'working', name: 'test', emit });
    willClose({ close: () => redis.disconnect() });
    const queue = willClose(new Queue(ERASURES_QUEUE, { connection: client }));
    const options = { queue: ERASURES_QUEUE, shard: { prefix: 'bull' }, concurrency: 1 };
    const context = { redis, atomic: createAtomic(redis), lockDurationMs: 30_000, emit };
    let steps = 0;
    const worker = willClose(
      openStepwiseWorker(context, options, async () => {
        steps += 1;
        if (steps > 1) return { kind: 'done' };
        await server.fillUp();
        return { kind: 'again', delayMs: 0 };
      }),
    );
    await queue.add('job', {}, { jobId: 'one' });
    worker.start();
    await signals.first('job.interrupted');
    await server.makeRoom();
    while ((await queue.getJobCountByTypes('wait', 'active', 'delayed')) > 0);
    expect([steps, await queue.getFailedCount()]).toEqual([2, 0]);
  });
});

describe('bullmq delay too new', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  /** A worker that can't read the only job on its queue, which it has taken so many times already. */
  async function startWorker(started = 0) {
    const { client, context, shard, signals } = willClose(await openTestQueues());
    const queue = willClose(new Queue(REPLAYS_QUEUE, { connection: client }));
    const worker = willClose(
      openStepwiseWorker(context, { queue: REPLAYS_QUEUE, shard, concurrency: 1 }, async () => {
        throw new Error('It was not left alone.');
      }),
    );
    await queue.add('replay', { v: JOB_VERSION + 1 }, { jobId: 'one' });
    if (started > 0) await client.hset(queue.toKey('one'), 'ats', started);
    worker.start();
    return { queue, signals };
  }

  // BullMQ subtracts its own time from the time that it is given: a millisecond may have passed between.
  const inTenths = (ms: number): number => Math.round(ms / 100);

  async function untilDelayed(queue: Queue): Promise<Job> {
    for (;;) {
      const [job] = await queue.getDelayed();
      if (job) return job;
    }
  }

  it('delays a job that it can not read, reports it, and uses up no attempt', async () => {
    const { queue, signals } = await startWorker();
    const job = await untilDelayed(queue);
    expect([job.attemptsMade, job.data]).toEqual([0, { v: JOB_VERSION + 1 }]);
    expect(signals.named('job.too_new')).toEqual([
      { name: 'job.too_new', queue: REPLAYS_QUEUE, jobId: 'one', version: JOB_VERSION + 1 },
    ]);
    expect(signals.named('job.failed')).toEqual([]);
    expect(signals.named('job.interrupted')).toEqual([]);
  });

  it('delays it the longer the more often it came', async () => {
    const { queue } = await startWorker();
    const first = await untilDelayed(queue);
    const firstDelayMs = first.delay;
    await first.promote();
    let again = await untilDelayed(queue);
    while (again.attemptsStarted === first.attemptsStarted) again = await untilDelayed(queue);
    expect([firstDelayMs, again.delay].map(inTenths)).toEqual([20, 40]);
  });

  it('delays it for ten minutes at most', async () => {
    const { queue } = await startWorker(20_000);
    expect(inTenths((await untilDelayed(queue)).delay)).toBe(6_000);
  });
});
