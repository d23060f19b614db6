import { EventEmitter, once } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { deliveryIdOf, type JobEnd } from '@hookferry/core/domain/delivery';
import { keys } from '@hookferry/core/domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '@hookferry/core/domain/queues';
import { BesideLanes } from '@hookferry/core/endpoints/admission/redis-beside-lanes';
import { systemClock } from '@hookferry/core/platform/clock';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { connectRedis } from '@hookferry/core/platform/redis-connect';
import type { Step } from '@hookferry/core/platform/redis-script';
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { DUE_GRACE_MS, type DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { RunningBatches } from '@hookferry/core/queue/bullmq-running-batches';
import { RunningJobs } from '@hookferry/core/queue/bullmq-running-jobs';
import { RunningLanes } from '@hookferry/core/queue/bullmq-running-lanes';
import type { DeliveryJob } from '@hookferry/core/queue/delivery-job';
import { createClosables } from '@hookferry/core/testing/closables';
import { fake } from '@hookferry/core/testing/fake';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { setOnce } from '@hookferry/core/testing/set-once.script';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '@hookferry/core/testing/unique-ids';
import { type Job, Queue, UnrecoverableError } from 'bullmq';
import { ReplyError } from 'ioredis';
import { SharedCapacity } from '../capacity';
import { JobBatch } from './bullmq-delivery-runs';
import { DeliveryWorker } from './bullmq-delivery-worker';
import { workerOptionsOf } from './bullmq-open-worker';
import { giveJobBack } from './bullmq-put-back';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

// Waiting for a lock to expire would run into the time-out of the test.
const LOCK_MS = 120_000;
// BullMQ's scores of delayed jobs: see its `moveToDelayed` script.
const DUE_UNITS_A_MS = 0x1000;

const DONE: JobEnd = { kind: 'done' };
const DELAYED: JobEnd = { kind: 'delayed', delayMs: 60_000, failure: 'http_5xx' };

interface Scene {
  readonly worker: DeliveryWorker;
  readonly abortSignal: AbortSignal;
  /** Runs the steps as one script with a record, which is refused if there is one. Gives whether all ran. */
  record(job: Job, steps: readonly Step[]): Promise<boolean>;
}

type Run = (job: Job<DeliveryJob>, scene: Scene) => Promise<JobEnd>;

/** A worker on a queue of its own, at one job after the other. It is not started. */
async function arrange(run: Run, { lockDurationMs = LOCK_MS, concurrency = 1, clock = systemClock } = {}) {
  const { url, client } = willClose(await openTestRedis());
  const proxy = willClose(await startRedisProxy(url));
  const redis = connectRedis({ url: proxy.url, role: 'working', name: 'test', emit: () => {} });
  willClose({ close: () => redis.disconnect() });
  const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  const atomic = createAtomic(redis);
  const shard = { prefix: 'bull' };
  const capacity = new SharedCapacity(concurrency);
  const begun: string[] = [];
  const failures: string[] = [];
  const progress = new EventEmitter();
  const worker: DeliveryWorker = new DeliveryWorker(
    DELIVERIES_QUEUE,
    // With a third parameter, BullMQ reports here when the job is cancelled.
    async (job, _token, abortSignal) => {
      if (!abortSignal) throw new Error('arranged otherwise');
      begun.push(job.id ?? '');
      const record = async (recorded: Job, steps: readonly Step[]) =>
        (await atomic([setOnce({ thing: `record:${recorded.id}` }), ...steps])).length > steps.length;
      try {
        return await run(job, { worker, abortSignal, record });
      } catch (error) {
        // The worker would take what a test has expected in vain for a job that failed.
        if (error instanceof Error && 'matcherResult' in error) progress.emit('error', error);
        throw error;
      }
    },
    {
      ...workerOptionsOf(
        { redis, atomic, lockDurationMs, emit: () => {} },
        { queue: DELIVERIES_QUEUE, shard, capacity },
      ),
      drainDelay: 3_600,
      lockDuration: lockDurationMs,
      runningJobs: new RunningJobs(redis, shard, lockDurationMs, clock),
      runningLanes: new RunningLanes(redis, shard),
      besideLanes: new BesideLanes(redis),
      runningBatches: new RunningBatches(redis, shard, lockDurationMs),
      // Delayed jobs stay where they are.
      dueDeliveries: fake<DueDeliveries>({ start() {}, expect() {}, stop: async () => {} }),
      clock,
    },
  );
  worker.on('error', () => {});
  worker.on('failed', (_job, { message }) => failures.push(message));
  for (const name of ['completed', 'failed'] as const) worker.on(name, () => progress.emit('ended'));
  willClose({ close: () => worker.close(true) });
  return {
    client,
    proxy,
    redis,
    queue,
    worker,
    begun,
    failures,
    lockOf: (id: string) => client.get(queue.toKey(`${id}:lock`)),
    exists: async (id: string) => (await client.exists(queue.toKey(id))) === 1,
    async add(...ids: readonly string[]) {
      for (const jobId of ids) await queue.add('d', { account_id: 'acct' }, { jobId, attempts: 10_000 });
    },
    /** Resolves when so many runs have ended. */
    async untilEnded(count: number) {
      for (let ended = 0; ended < count; ended += 1) await once(progress, 'ended');
    },
  };
}

describe('a run that throws', () => {
  it('is due again by the clock that all processes share, whatever that of this machine says', async () => {
    const isAheadMs = 7_200_000;
    const clock = () => systemClock() - isAheadMs;
    const fail = async () => {
      throw new Error('a bug');
    };
    const { client, queue, worker, add, untilEnded } = await arrange(fail, { clock });
    await add('one');
    const hasEnded = untilEnded(1);
    worker.start();
    await hasEnded;
    const score = Number(await client.zscore(queue.toKey('delayed'), 'one'));
    expect(score / DUE_UNITS_A_MS).toBeLessThanOrEqual(clock() + 5_000);
  });

  it('begins again a second later, as if it had not been, when Redis has refused the end of its job', async () => {
    const { queue, worker, failures, add, untilEnded } = await arrange(async () => {
      throw new ReplyError('READONLY You can’t write against a read only replica.');
    });
    await add('one');
    const hasEnded = untilEnded(1);
    worker.start();
    await hasEnded;
    expect(failures).toHaveLength(1);
    const [delayed] = await queue.getDelayed();
    expect(delayed).toMatchObject({ attemptsMade: 0, stacktrace: [] });
    expect(delayed?.delay).toBeLessThan(2_000);
  });
});

describe('a run that has recorded nothing', () => {
  it('has its job ended by its result, and the next one begun', async () => {
    const { client, queue, worker, begun, exists, add, untilEnded } = await arrange(async ({ id }) =>
      id === 'held' ? { kind: 'delayed', delayMs: 60_000 } : id === 'tried' ? DELAYED : DONE,
    );
    await add('done', 'held', 'tried', 'last');
    const hasEnded = untilEnded(4);
    worker.start();
    await hasEnded;
    expect(begun).toEqual(['done', 'held', 'tried', 'last']);
    expect(await Promise.all(begun.map(exists))).toEqual([false, true, true, false]);
    const delayed = await queue.getDelayed();
    expect(
      delayed.map(({ id, delay, attemptsMade, failedReason }) => [id, delay, attemptsMade, failedReason]),
    ).toEqual([
      ['held', 60_000 + DUE_GRACE_MS, 0, undefined],
      ['tried', 60_000 + DUE_GRACE_MS, 1, 'http_5xx'],
    ]);
    expect(await client.keys('*:lock')).toEqual([]);
    expect(await queue.getActiveCount()).toBe(0);
  });

  it('fails for good when it says so, and is kept for people; the next one is begun', async () => {
    const { queue, worker, failures, add, untilEnded } = await arrange(async ({ id }) => {
      if (id === 'bad') throw new UnrecoverableError('Not a delivery job.');
      return DONE;
    });
    await add('bad', 'good');
    const hasEnded = untilEnded(2);
    worker.start();
    await hasEnded;
    expect(failures).toEqual(['Not a delivery job.']);
    expect((await queue.getFailed()).map(({ id }) => id)).toEqual(['bad']);
  });

  it('is run again after five seconds when something goes wrong that nobody has foreseen', async () => {
    const { queue, worker, add, exists, untilEnded } = await arrange(async ({ id }) => {
      if (id === 'unlucky') throw new Error('WRONGTYPE');
      return DONE;
    });
    await add('unlucky', 'lucky');
    const hasEnded = untilEnded(2);
    worker.start();
    await hasEnded;
    expect((await queue.getDelayed()).map(({ id, delay }) => [id, delay])).toEqual([['unlucky', 5_000]]);
    expect(await exists('lucky')).toBe(false);
  });

  it('can give its job back, to be taken next', async () => {
    let runs = 0;
    const { worker, begun, add, untilEnded } = await arrange(async (job) => {
      runs += 1;
      if (runs === 1) await giveJobBack(job, job.token);
      return DONE;
    });
    await add('one', 'two');
    const hasEnded = untilEnded(2);
    worker.start();
    await hasEnded;
    expect(begun).toEqual(['one', 'one', 'two']);
  });
});

describe('the job of a lane', () => {
  async function arrangeLane(fails: boolean, isInBatches = false) {
    const heads: (string | undefined)[] = [];
    const scene = await arrange(async (job, { worker }) => {
      const lane = worker.ownedOf(job).lane;
      if (lane === undefined) throw new UnrecoverableError('Not a delivery job.');
      heads.push(lane.head.eventId);
      // Its webhook is in strict order by now.
      if (lane.head.isInBatches) await worker.ownedOf(job).beginHeads({ most: 1, maxBytes: 1_000 });
      if (fails && heads.length === 1) throw new UnrecoverableError('too often');
      return lane.head.turn === 'first' ? DONE : { kind: 'delayed', delayMs: 60_000 };
    });
    const [accountId, endpointId] = [uniqueAccountId(), uniqueEndpointId()];
    const events = [uniqueEventId(), uniqueEventId()] as const;
    const deliveries = events.map((eventId, i) => {
      return { accountId, endpointId, eventId, acceptedAt: systemClock() + i, isInLane: true, isInBatches };
    });
    const add = () => new DeliveryQueue(scene.client, oneShard('bull')).addAll(deliveries);
    return { ...scene, heads, endpointId, events, addLane: add };
  }

  it('comes with its head also behind a job that has failed', async () => {
    const { queue, worker, heads, events, add, addLane, untilEnded } = await arrangeLane(false);
    await add('bad');
    await addLane();
    const hasEnded = untilEnded(3);
    worker.start();
    await hasEnded;
    expect(heads).toEqual(events);
    expect((await queue.getFailed()).map(({ id }) => id)).toEqual(['bad']);
  });

  it('does not go on before what has failed, when it came in batches and goes in order now', async () => {
    const { client, worker, heads, failures, endpointId, events, addLane, untilEnded } = await arrangeLane(
      true,
      true,
    );
    await addLane();
    const hasEnded = untilEnded(2);
    worker.start();
    await hasEnded;
    expect([heads, failures]).toEqual([events, ['too often']]);
    expect(await client.zrange(keys.order(endpointId), '0', '-1')).toEqual([events[0]]);
  });

  it('never fails for good: its head gets a job of its own, which does, and the next one waits', async () => {
    const { queue, worker, heads, failures, endpointId, events, exists, addLane, untilEnded } =
      await arrangeLane(true);
    await addLane();
    const hasEnded = untilEnded(2);
    worker.start();
    await hasEnded;
    expect(failures).toEqual(['too often']);
    const [failed] = await queue.getFailed();
    expect(failed?.id).toBe(`${events[0]}.${endpointId}`);
    expect(heads).toEqual(events);
    expect(await exists(`lane/${endpointId}`)).toBe(true);
    expect((await queue.getDelayed()).map(({ id }) => id)).toEqual([`lane/${endpointId}`]);
  });
});

it('sends a delivery alone while queues are split again, though it went with others of its lane before', async () => {
  const together: (readonly string[])[] = [];
  const { client, queue, worker, untilEnded } = await arrange(async (job, scene) => {
    const batch = new JobBatch(scene.worker.ownedOf(job), together.length === 0);
    const runs = await batch.gather({ most: 2, maxBytes: 1_000_000, isInOrder: true });
    together.push(runs.map(({ eventId }) => eventId));
    return DELAYED;
  });
  const [accountId, endpointId] = [uniqueAccountId(), uniqueEndpointId()];
  const events = [uniqueEventId(), uniqueEventId()] as const;
  const deliveries = events.map((eventId, i) => {
    return { accountId, endpointId, eventId, acceptedAt: systemClock() + i, isInLane: true };
  });
  await new DeliveryQueue(client, oneShard('bull')).addAll(deliveries);
  worker.start();
  await untilEnded(1);
  const [delayed] = await queue.getDelayed();
  const hasEnded = untilEnded(1);
  await delayed?.promote();
  await hasEnded;
  expect(together).toEqual([events, [events[0]]]);
});

describe('a record that ends the job of its run', () => {
  it.each([
    ['done', DONE, false],
    ['delayed', DELAYED, true],
  ] as const)('is one command for each delivery, with the next job: %s', async (_what, end, stays) => {
    const sent: string[] = [];
    const { client, redis, queue, worker, begun, exists, add, untilEnded } = await arrange(
      async (job, scene) => {
        if (job.id === 'first') {
          // From here on Redis knows the script.
          const { sendCommand } = redis;
          redis.sendCommand = function note(this: typeof redis, ...given: Parameters<typeof sendCommand>) {
            if (given[0].name !== 'info') sent.push(given[0].name);
            return Reflect.apply(sendCommand, this, given) as ReturnType<typeof sendCommand>;
          };
        }
        expect(await scene.record(job, scene.worker.ownedOf(job).stepsToEnd(end))).toBe(true);
        return end;
      },
    );
    await add('known', 'first', 'second', 'third');
    const hasEnded = untilEnded(4);
    worker.start();
    await hasEnded;
    expect(begun).toEqual(['known', 'first', 'second', 'third']);
    expect(sent.slice(0, 3)).toEqual(['evalsha', 'evalsha', 'evalsha']);
    expect(await Promise.all(begun.map(exists))).toEqual([stays, stays, stays, stays]);
    const atm = await Promise.all(begun.map((id) => client.hget(queue.toKey(id), 'atm')));
    expect(atm).toEqual(stays ? ['1', '1', '1', '1'] : [null, null, null, null]);
    expect(await client.keys('*:lock')).toEqual([]);
  });

  it('leaves it as it is when it is refused: the result of the run ends it, and takes the next one', async () => {
    const { client, queue, worker, begun, exists, lockOf, add, untilEnded } = await arrange(
      async (job, scene) => {
        if (job.id !== 'one') return DONE;
        const locked = await lockOf('one');
        expect(await scene.record(job, scene.worker.ownedOf(job).stepsToEnd(DONE))).toBe(false);
        expect(await lockOf('one')).toBe(locked);
        expect(await queue.getWaitingCount()).toBe(1);
        return DELAYED;
      },
    );
    await client.set('record:one', '1');
    await add('one', 'two');
    const hasEnded = untilEnded(2);
    worker.start();
    await hasEnded;
    expect(begun).toEqual(['one', 'two']);
    expect(await exists('two')).toBe(false);
    expect((await queue.getDelayed()).map(({ id, attemptsMade }) => [id, attemptsMade])).toEqual([
      ['one', 1],
    ]);
  });

  it('is there without the end when the job is not ours any more, and touches nothing else', async () => {
    const { client, queue, worker, begun, add, lockOf, untilEnded } = await arrange(async (job, scene) => {
      if (job.id !== 'one') return DONE;
      await client.set(queue.toKey('one:lock'), 'another worker');
      await client.sadd(queue.toKey('stalled'), 'one');
      expect(await scene.record(job, scene.worker.ownedOf(job).stepsToEnd(DELAYED))).toBe(false);
      expect(scene.worker.ownedOf(job).stepsToEnd(DONE)).toEqual([]);
      expect(await queue.getWaitingCount()).toBe(1);
      return DONE;
    });
    await add('one', 'two');
    const hasEnded = untilEnded(2);
    worker.start();
    await hasEnded;
    expect(begun).toEqual(['one', 'two']);
    expect(await client.get('record:one')).toBe('1');
    expect(await client.lrange(queue.toKey('active'), 0, -1)).toEqual(['one']);
    expect(await client.smembers(queue.toKey('stalled'))).toEqual(['one']);
    expect(await lockOf('one')).toBe('another worker');
    expect(await client.hexists(queue.toKey('one'), 'atm')).toBe(0);
  });

  it('stands, whatever goes wrong after it: that is announced, and the next job is run', async () => {
    const { queue, worker, begun, failures, exists, add, untilEnded } = await arrange(async (job, scene) => {
      await scene.record(job, scene.worker.ownedOf(job).stepsToEnd(job.id === 'tried' ? DELAYED : DONE));
      if (job.id !== 'last') throw new Error(`No aftermath: ${job.id}`);
      return DONE;
    });
    await add('done', 'tried', 'last');
    const hasEnded = untilEnded(3);
    worker.start();
    await hasEnded;
    expect(begun).toEqual(['done', 'tried', 'last']);
    expect(failures).toEqual(['No aftermath: done', 'No aftermath: tried']);
    expect(await Promise.all(begun.map(exists))).toEqual([false, true, false]);
    expect((await queue.getDelayed()).map(({ attemptsMade }) => attemptsMade)).toEqual([1]);
    expect(await queue.getFailedCount()).toBe(0);
  });

  it('takes no other job when the worker is closing', async () => {
    const { queue, worker, begun, exists, add, untilEnded } = await arrange(async (job, scene) => {
      void scene.worker.stop();
      expect(await scene.record(job, scene.worker.ownedOf(job).stepsToEnd(DONE))).toBe(true);
      return DONE;
    });
    await add('one', 'two');
    const hasEnded = untilEnded(1);
    worker.start();
    await hasEnded;
    await worker.close();
    expect(begun).toEqual(['one']);
    expect(await exists('one')).toBe(false);
    expect(await queue.getWaitingCount()).toBe(1);
  });
});

it('interrupts also a job that came with the end of another one, when it is begun after the deadline', async () => {
  const aborted: unknown[] = [];
  const { queue, worker, add, begun } = await arrange(async (job, { worker: ours, abortSignal, record }) => {
    aborted.push([job.id, abortSignal.aborted]);
    if (job.id === 'two') return await giveJobBack(job, job.token);
    await record(job, ours.ownedOf(job).stepsToEnd(DONE));
    void ours.stop();
    ours.cancelAllJobs();
    return DONE;
  });
  await add('one', 'two');
  worker.start();
  while (begun.length < 2) await immediate();
  await worker.close();
  expect(aborted).toEqual([
    ['one', false],
    ['two', true],
  ]);
  expect(await queue.getJobCountByTypes('wait', 'prioritized')).toBe(1);
});

it("does not begin a job again before what follows from its last run's record is done", async () => {
  const steps = new EventEmitter();
  let underWay = 0;
  let most = 0;
  let runs = 0;
  const renewed: unknown[] = [];
  const { client, queue, worker, add, lockOf, untilEnded } = await arrange(
    async (job, scene) => {
      runs += 1;
      underWay += 1;
      most = Math.max(most, underWay);
      if (runs === 1) {
        const isDone = once(steps, 'done');
        await scene.record(job, scene.worker.ownedOf(job).stepsToEnd({ kind: 'delayed', delayMs: 1 }));
        steps.emit('recorded');
        await isDone;
      } else {
        renewed.push(...(await once(scene.worker, 'locksRenewed')));
      }
      underWay -= 1;
      return DONE;
    },
    { concurrency: 2, lockDurationMs: 1_500 },
  );
  const isRecorded = once(steps, 'recorded');
  const hasEnded = untilEnded(2);
  await add('one');
  worker.start();
  await isRecorded;
  while ((await lockOf('one')) === null) await immediate();
  expect(runs).toBe(1);
  steps.emit('done');
  await hasEnded;
  expect([runs, most]).toEqual([2, 1]);
  expect(renewed).toEqual([{ count: 1, jobIds: ['one'] }]);
  expect(await client.exists(queue.toKey('one'))).toBe(0);
});

// ioredis asks again, and gets another job under the same token. The lost one is given back, and comes next.
it('runs also the job whose reply was lost, when it comes with the end of the one that came instead', async () => {
  const { client, proxy, queue, worker, begun, lockOf, untilEnded } = await arrange(async (job, scene) => {
    // As long as the lost one is not given back.
    while (job.id === 'two' && (await lockOf('one')) !== null) await immediate();
    await scene.record(job, scene.worker.ownedOf(job).stepsToEnd(DONE));
    return DONE;
  });
  const add = (ids: readonly string[]) =>
    queue.addBulk(ids.map((jobId) => ({ name: 'd', data: { account_id: 'acct' }, opts: { jobId } })));
  // From here on Redis knows the scripts.
  const isKnown = untilEnded(2);
  await add(['known', 'too']);
  worker.start();
  await isKnown;
  while (worker.wantsMore) await immediate();
  // Only what takes a job names them.
  const isLost = proxy.swallowAnswerTo('bull:events:');
  const haveEnded = untilEnded(2);
  await add(['one', 'two']);
  await isLost;
  await haveEnded;
  expect(begun).toEqual(['known', 'too', 'two', 'one']);
  expect(await client.exists(queue.toKey('one'), queue.toKey('two'))).toBe(0);
});

describe('what is read together with a job', () => {
  it('is used while it is as good as new, and never later', async () => {
    const delivery = { eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
    const seen: unknown[] = [];
    const { queue, worker, untilEnded } = await arrange(async (job, scene) => {
      seen.push(scene.worker.ownedOf(job).texts);
      while (scene.worker.ownedOf(job).texts !== undefined) await immediate();
      return DONE;
    });
    const data = { account_id: uniqueAccountId() };
    await queue.add('d', data, { jobId: deliveryIdOf(delivery) });
    const hasEnded = untilEnded(1);
    const before = performance.now();
    worker.start();
    await hasEnded;
    expect(performance.now() - before).toBeGreaterThan(200);
    expect(seen).toEqual([
      { log: null, breaker: null, endpoint: null, event: null, readAt: expect.any(Number) },
    ]);
  });
});
