import { EventEmitter, once } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { DELIVERIES_QUEUE } from '@hookferry/core/domain/queues';
import { atomicAsOne } from '@hookferry/core/platform/redis-atomic';
import { connectRedis, type RedisClient } from '@hookferry/core/platform/redis-connect';
import { createClosables } from '@hookferry/core/testing/closables';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { DelayedError, Job, type Processor, Queue } from 'bullmq';
import { SharedCapacity } from '../capacity';
import { BullmqWorker, type BullmqWorkerOptions } from './bullmq-worker';

describe('bullmq worker', () => {
  // Waiting for a lock to expire would run into the time-out of the test.
  const LOCK_MS = 120_000;

  const range = (count: number) => [...Array(count).keys()];

  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  /** Hands a job over as BullMQ does it once an answer of Redis has come. */
  class OpenWorker extends BullmqWorker<unknown> {
    fetches = 0;

    protected override moveToActive(token: string, name?: string): Promise<Job<unknown>> {
      this.fetches += 1;
      return super.moveToActive(token, name);
    }

    handOver(job: Job<unknown>, token: string): Promise<unknown> {
      return this.callProcessJob(job, token);
    }
  }

  /** A worker that is at each job until it is told to finish it. */
  function openWorker(
    redis: RedisClient,
    { concurrency = 1, ...change }: Partial<BullmqWorkerOptions> & { readonly concurrency?: number } = {},
  ) {
    const capacity = new SharedCapacity(concurrency);
    const taken: string[] = [];
    const steps = new EventEmitter().setMaxListeners(0);
    let underWay = 0;
    let mostUnderWay = 0;
    const process: Processor<unknown> = async ({ id = '' }) => {
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      taken.push(id);
      const isFinished = once(steps, id);
      steps.emit('taken');
      await isFinished;
      underWay -= 1;
    };
    const worker = new OpenWorker(DELIVERIES_QUEUE, process, {
      redis,
      atomic: atomicAsOne(redis),
      prefix: 'bull',
      lockDuration: LOCK_MS,
      stalledCheckMs: LOCK_MS,
      runRetryDelay: 50,
      capacity,
      ...change,
    });
    worker.on('error', () => {});
    willClose({
      close: async () => {
        for (const id of taken) steps.emit(id);
        await worker.close(true);
      },
    });
    return {
      worker,
      capacity,
      taken,
      mostUnderWay: () => mostUnderWay,
      finish: (id: string) => void steps.emit(id),
      async untilTaken(count: number) {
        while (taken.length < count) await once(steps, 'taken');
      },
    };
  }

  async function arrange(url?: string, workerUrl?: string) {
    const database = willClose(await openTestRedis(url));
    const { client } = database;
    const redis = connectRedis({
      url: workerUrl ?? database.url,
      role: 'working',
      name: 'test',
      emit: () => {},
    });
    willClose({ close: () => redis.disconnect() });
    const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    return {
      client,
      redis,
      queue,
      lockOf: (id: string) => client.get(queue.toKey(`${id}:lock`)),
      /** As if Redis had given it to the token's owner, and the reply had been lost. */
      async fetchUnheard(id: string, token: string): Promise<Job> {
        const job = await queue.add('d', {}, { jobId: id });
        await client.lrem(queue.toKey('wait'), 1, id);
        await client.lpush(queue.toKey('active'), id);
        await client.set(queue.toKey(`${id}:lock`), token);
        await client.del(queue.toKey('marker'));
        return job;
      },
    };
  }

  describe('its locks', () => {
    it('are extended, and it tells which are lost', async () => {
      const { client, redis, queue, lockOf } = await arrange();
      const { worker } = openWorker(redis);
      const lockKey = (id: string) => queue.toKey(`${id}:lock`);
      await client.set(lockKey('mine'), 'token-1', 'PX', 1_000);
      await client.set(lockKey('taken'), 'another', 'PX', 1_000);
      const ids = ['mine', 'taken', 'gone'];
      const lost = await worker.extendJobLocks(ids, ['token-1', 'token-2', 'token-3'], 60_000);
      expect(lost).toEqual(['taken', 'gone']);
      expect(await client.pttl(lockKey('mine'))).toBeGreaterThan(30_000);
      expect(await client.pttl(lockKey('taken'))).toBeLessThanOrEqual(1_000);
      expect(await lockOf('gone')).toBeNull();
    });

    it('are extended also when someone sets the clock of the machine back', async () => {
      const { redis, queue } = await arrange();
      const { worker, untilTaken } = openWorker(redis, { lockDuration: 4_000 });
      worker.start();
      await queue.add('d', {}, { jobId: 'one' });
      await untilTaken(1);
      const now = Date.now.bind(Date);
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
      const [renewed] = await once(worker, 'locksRenewed');
      clock.mockRestore();
      expect(renewed).toMatchObject({ jobIds: ['one'] });
    });

    it('take the jobs from among the ones that look stalled', async () => {
      const { client, redis, queue } = await arrange();
      const { worker } = openWorker(redis);
      await client.set(queue.toKey('mine:lock'), 'token-1');
      await client.sadd(queue.toKey('stalled'), 'mine', 'gone');
      await worker.extendJobLocks(['mine', 'gone'], ['token-1', 'token-2'], 60_000);
      expect(await client.smembers(queue.toKey('stalled'))).toEqual(['gone']);
    });

    // A worker that has sent a request and can't record it would lose its job to another one that sends it again.
    it('are extended also while Redis is out of memory', async () => {
      const server = willClose(await startRedisServer());
      const { client, redis, queue, lockOf } = await arrange(server.url);
      const { worker, untilTaken } = openWorker(redis, { lockDuration: 1_000 });
      await queue.add('d', {}, { jobId: 'one' });
      void worker.run();
      await untilTaken(1);
      const token = await lockOf('one');
      await server.fillUp();
      await expect(client.set('something', 'new')).rejects.toThrow('OOM');
      await once(worker, 'locksRenewed');
      await once(worker, 'locksRenewed');
      await once(worker, 'locksRenewed');
      expect(await lockOf('one')).toBe(token);
      await server.makeRoom();
    });

    it('that another worker has taken are announced', async () => {
      const { client, redis, queue } = await arrange();
      const { worker, untilTaken } = openWorker(redis, { lockDuration: 1_000 });
      await queue.add('d', {}, { jobId: 'one' });
      void worker.run();
      await untilTaken(1);
      await client.set(queue.toKey('one:lock'), 'another');
      const [lost] = await once(worker, 'lockRenewalFailed');
      expect(lost).toEqual(['one']);
      expect(await client.get(queue.toKey('one:lock'))).toBe('another');
    });
  });

  describe('a job that was fetched over a connection that broke before the answer came', () => {
    it('is given back soon after the reconnect, and processed, long before its lock is over', async () => {
      const { url } = willClose(await openTestRedis());
      const proxy = willClose(await startRedisProxy(url));
      const { client, redis, queue } = await arrange(url, proxy.url);
      await once(redis, 'ready');
      await queue.add('d', {}, { jobId: 'one' });
      const { worker, taken, untilTaken, finish } = openWorker(redis);
      await worker.waitUntilReady();
      // Of all that a worker sends before it has a job, only the fetching names this key.
      const answered = proxy.swallowAnswerTo('bull:deliveries:limiter');
      void worker.run();
      await answered;
      expect(await client.lrange(queue.toKey('active'), 0, -1)).toEqual(['one']);
      const lock = await client.get(queue.toKey('one:lock'));
      const startedAt = performance.now();
      await untilTaken(1);
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      expect(await client.get(queue.toKey('one:lock'))).not.toBe(lock);
      finish('one');
      while ((await queue.getJobCountByTypes('active', 'wait')) > 0);
      expect(taken).toEqual(['one']);
    });

    it('is not processed when BullMQ hands it over after all: somebody else may be at it', async () => {
      const { redis, queue, fetchUnheard } = await arrange();
      const { worker, taken, untilTaken, finish } = openWorker(redis);
      await worker.waitUntilReady();
      const job = await fetchUnheard('one', `${worker.id}:7`);
      redis.emit('ready');
      while ((await queue.getWaitingCount()) === 0);
      await expect(worker.handOver(job, `${worker.id}:7`)).rejects.toThrow(DelayedError);
      expect(taken).toEqual([]);

      const processed = worker.handOver(job, `${worker.id}:8`);
      await untilTaken(1);
      finish('one');
      await processed;
      expect(taken).toEqual(['one']);
    });

    it('wakes the workers that wait for jobs, also when it has a priority', async () => {
      const { client, redis, queue, fetchUnheard } = await arrange();
      const { worker } = openWorker(redis);
      await worker.waitUntilReady();
      await fetchUnheard('one', `${worker.id}:7`);
      await client.hset(queue.toKey('one'), 'priority', 5);
      redis.emit('ready');
      while ((await client.exists(queue.toKey('marker'))) === 0);
      expect(await queue.getJobCountByTypes('wait', 'prioritized')).toBe(1);
    });

    it("stays where it is when it is another worker's, or this one is at it", async () => {
      const { client, redis, queue, fetchUnheard, lockOf } = await arrange();
      const { worker, untilTaken } = openWorker(redis);
      await worker.waitUntilReady();
      await queue.add('d', {}, { jobId: 'own' });
      void worker.run();
      await untilTaken(1);
      await fetchUnheard('other', 'another-worker:7');
      // What this one has to do as well: when it is given back, all were looked at.
      await fetchUnheard('unheard', `${worker.id}:1000`);
      await worker.pause(true);
      redis.emit('ready');
      while ((await lockOf('unheard')) !== null);
      expect((await client.lrange(queue.toKey('active'), 0, -1)).toSorted()).toEqual(['other', 'own']);
      expect(await lockOf('other')).toBe('another-worker:7');
      expect(await lockOf('own')).toMatch(`${worker.id}:`);
    });

    it('is left to the others by a worker that is closed', async () => {
      const { client, redis, queue, fetchUnheard } = await arrange();
      const [closed, open] = [openWorker(redis).worker, openWorker(redis).worker];
      await Promise.all([closed.waitUntilReady(), open.waitUntilReady()]);
      await closed.close();
      await fetchUnheard('of the closed', `${closed.id}:7`);
      await fetchUnheard('of the open', `${open.id}:7`);
      redis.emit('ready');
      while ((await queue.getWaitingCount()) === 0);
      expect(await client.lrange(queue.toKey('active'), 0, -1)).toEqual(['of the closed']);
    });
  });

  // Only what wakes it makes it fetch within the time of a test. By what BullMQ keeps to itself, so a version
  // of it that does otherwise has to be noticed.
  describe('its rest while nothing waits', () => {
    const UNTIL_WOKEN = { drainDelay: 3_600, concurrency: 100 };

    it('takes one fetch for each job that comes alone, whether or not the one before is under way', async () => {
      const { redis, queue } = await arrange();
      const { worker, untilTaken, finish } = openWorker(redis, UNTIL_WOKEN);
      void worker.run();
      await once(worker, 'drained');
      for (const [i, jobId] of ['one', 'two', 'three', 'four'].entries()) {
        await queue.add('d', {}, { jobId, priority: 7 });
        await untilTaken(i + 1);
        if (i % 2 === 1) {
          const isCompleted = once(worker, 'completed');
          finish(jobId);
          await isCompleted;
        }
      }
      expect(worker.fetches).toBe(1 + 4);
    });

    it('takes all at once that wait when it is woken', async () => {
      const { redis, queue } = await arrange();
      const { worker, untilTaken } = openWorker(redis, UNTIL_WOKEN);
      void worker.run();
      await once(worker, 'drained');
      await queue.addBulk(
        range(40).map((i) => ({ name: 'd', data: {}, opts: { jobId: `j${i}`, priority: 1 } })),
      );
      await untilTaken(40);
      expect(await queue.getActiveCount()).toBe(40);
    });

    it('misses no job that comes while one of two workers goes to rest', async () => {
      const { redis, queue } = await arrange();
      const left = new Set(range(900).map((i) => `j${i}`));
      const progress = new EventEmitter();
      for (const { concurrency, drainDelay } of [UNTIL_WOKEN, UNTIL_WOKEN]) {
        const worker = new OpenWorker(DELIVERIES_QUEUE, async () => immediate(), {
          redis,
          atomic: atomicAsOne(redis),
          prefix: 'bull',
          stalledCheckMs: LOCK_MS,
          drainDelay,
          capacity: new SharedCapacity(concurrency),
        });
        willClose({ close: () => worker.close(true) });
        worker.on('completed', ({ id = '' }) => {
          left.delete(id);
          if (left.size === 0) progress.emit('done');
        });
        void worker.run();
      }
      const isDone = once(progress, 'done');
      const produce = async (jobIds: readonly string[], opts: { priority?: number }) => {
        for (const jobId of jobIds) await queue.add('d', {}, { ...opts, jobId });
      };
      const jobIds = [...left];
      await Promise.all([
        produce(jobIds.slice(0, 300), { priority: 1 }),
        produce(jobIds.slice(300, 600), { priority: 2 }),
        produce(jobIds.slice(600), {}),
      ]);
      await isDone;
      expect(await queue.getJobCounts('wait', 'prioritized')).toEqual({ wait: 0, prioritized: 0 });
    });

    it('is one fetch each time that it ends by itself', async () => {
      const { redis } = await arrange();
      const scripts = jest.spyOn(redis, 'evalsha');
      const { worker } = openWorker(redis, { drainDelay: 0.02, concurrency: 1 });
      void worker.run();
      while (worker.fetches < 5) await immediate();
      // BullMQ's own scripts are not among them: these are what the first fetch asks beside itself, and the look for jobs
      // of dead workers.
      expect(scripts).toHaveBeenCalledTimes(2);
    });

    it('ends when a delayed job is due', async () => {
      const { redis, queue } = await arrange();
      const { worker, taken, untilTaken } = openWorker(redis, UNTIL_WOKEN);
      void worker.run();
      await once(worker, 'drained');
      await queue.add('d', {}, { jobId: 'later', delay: 300, priority: 3 });
      await queue.add('d', {}, { jobId: 'now', priority: 3 });
      await untilTaken(2);
      expect(taken).toEqual(['now', 'later']);
    });
  });

  // By what BullMQ keeps to itself, so a version of it that does otherwise has to be noticed.
  it('begins with each job before it fetches the next one, however many it may take', async () => {
    const { redis, queue } = await arrange();
    const { worker, taken, untilTaken, finish } = openWorker(redis, { concurrency: 50 });
    const ids = range(60).map((i) => `job-${i}`);
    await queue.addBulk(ids.map((jobId) => ({ name: 'd', data: {}, opts: { jobId } })));
    const ahead: number[] = [];
    worker.on('active', () => ahead.push(worker.fetches - ahead.length));
    void worker.run();
    await untilTaken(50);
    expect(ahead).toEqual(Array(50).fill(1));
    for (const id of ids.slice(0, 10)) finish(id);
    await untilTaken(60);
    expect(taken).toEqual(ids);
    // Later jobs came with the ends of others.
    expect(worker.fetches).toBe(50);
  });

  describe('its capacity', () => {
    it('has more jobs taken at once when it is raised while every slot is busy', async () => {
      const { redis, queue } = await arrange();
      const { worker, capacity, taken, untilTaken } = openWorker(redis, { concurrency: 1 });
      for (const jobId of ['one', 'two', 'three', 'four']) await queue.add('d', {}, { jobId });
      void worker.run();
      await untilTaken(1);
      capacity.setCapacity(3);
      await untilTaken(3);
      expect(taken).toEqual(['one', 'two', 'three']);
      expect(await queue.getWaitingCount()).toBe(1);
    });

    it('has more jobs taken that come later, too', async () => {
      const { redis, queue } = await arrange();
      const { worker, capacity, taken, untilTaken } = openWorker(redis, { concurrency: 1 });
      await queue.add('d', {}, { jobId: 'one' });
      void worker.run();
      await untilTaken(1);
      capacity.setCapacity(2);
      await queue.add('d', {}, { jobId: 'two' });
      await untilTaken(2);
      expect(taken).toEqual(['one', 'two']);
    });

    it('lets those end that are under way when it is lowered, and has no more taken than it says', async () => {
      const { redis, queue } = await arrange();
      const { worker, capacity, taken, untilTaken, finish, mostUnderWay } = openWorker(redis, {
        concurrency: 2,
      });
      for (const jobId of ['one', 'two', 'three', 'four', 'five']) await queue.add('d', {}, { jobId });
      void worker.run();
      await untilTaken(2);
      capacity.setCapacity(1);
      finish('one');
      finish('two');
      await untilTaken(3);
      finish('three');
      await untilTaken(4);
      finish('four');
      await untilTaken(5);
      expect(taken).toEqual(['one', 'two', 'three', 'four', 'five']);
      expect(mostUnderWay()).toBe(2);
    });

    it('can be set before there is anything to do', async () => {
      const { redis, queue } = await arrange();
      const { worker, capacity, untilTaken } = openWorker(redis, { concurrency: 1 });
      capacity.setCapacity(2);
      void worker.run();
      await queue.add('d', {}, { jobId: 'one' });
      await queue.add('d', {}, { jobId: 'two' });
      await untilTaken(2);
      expect(await queue.getActiveCount()).toBe(2);
    });
  });
});
