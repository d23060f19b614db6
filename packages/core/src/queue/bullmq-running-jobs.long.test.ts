import { Job, type JobJson, Queue, Worker } from 'bullmq';
import { Cluster, type Redis } from 'ioredis';
import { type DeliveryTexts, deliveryIdOf } from '../domain/delivery';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { atomicAsOne } from '../platform/redis-atomic';
import { ScriptUnit, type Step } from '../platform/redis-script';
import { buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { DELAYED_SCORE } from './bullmq-layout';
import { RunningJobs } from './bullmq-running-jobs';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const NOW = 1_800_000_000_000;
const TOKEN = 'worker:1';
const LOCK_MS = 30_000;
const HOUR_MS = 3_600_000;

// All that the two leave behind can be compared when both do it at the same time.
let now = NOW;
beforeEach(() => {
  now = NOW;
  jest.spyOn(Date, 'now').mockImplementation(() => now);
});
afterEach(() => jest.restoreAllMocks());

/** One of two queues with the same jobs: BullMQ's own worker works on one, ours on the other. */
interface Side {
  readonly client: Redis;
  readonly queue: Queue;
  take(): Promise<Seen>;
  /** Gives whether the job was still the worker's. */
  finish(jobId: string, token?: string): Promise<boolean>;
  delay(jobId: string, delayMs: number, failure?: string, token?: string): Promise<boolean>;
}

/** What a worker sees of what it took. */
interface Seen {
  readonly job: object | undefined;
  /** When the next delayed job is due, if there was no job to take. */
  readonly nextDueAt: number | undefined;
}

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const runningJobs = new RunningJobs(client, { prefix: 'ours' }, LOCK_MS);
  const [theirs, ours] = [await openTheirs(client), await openOurs(client, runningJobs)];
  return {
    client,
    ours,
    runningJobs,
    atomic: atomicAsOne(client),
    /** Do the same on both queues. Gives what came of it. */
    async onBoth<Result>(act: (side: Side) => Promise<Result>): Promise<readonly [Result, Result]> {
      return [await act(theirs), await act(ours)];
    },
    dumpBoth: async () => [await dumpOf(client, 'theirs'), await dumpOf(client, 'ours')] as const,
    markersOfOurs: () => client.zrange(ours.queue.toKey('marker'), '0', '-1', 'WITHSCORES'),
  };
}

async function openTheirs(client: Redis): Promise<Side> {
  const { queue } = await openSide(client, 'theirs');
  const options = { connection: client, prefix: 'theirs', lockDuration: LOCK_MS, autorun: false };
  const worker = willClose(new Worker(DELIVERIES_QUEUE, null, options));
  const jobOf = async (id: string): Promise<Job> => {
    const job: Job | undefined = await queue.getJob(id);
    // A job that was removed meanwhile is still in the memory of its worker.
    return job ?? new Job(queue, 'd', {}, {}, id);
  };
  return {
    client,
    queue,
    async take() {
      const job: Job | undefined = await worker.getNextJob(TOKEN, { block: false });
      const { blockUntil } = worker as unknown as { readonly blockUntil: number };
      return { job: job && seenOf(job), nextDueAt: job ? undefined : Math.floor(blockUntil) };
    },
    async finish(jobId, token = TOKEN) {
      const job = await jobOf(jobId);
      job.opts.removeOnComplete = true;
      return await isDone(job.moveToCompleted(undefined, token, false));
    },
    async delay(jobId, delayMs, failure, token = TOKEN) {
      const job = await jobOf(jobId);
      if (failure === undefined) return await isDone(job.moveToDelayed(now + delayMs, token));
      job.opts.attempts = 10_000;
      job.opts.backoff = { type: 'fixed', delay: delayMs };
      return await isDone(job.moveToFailed(Object.assign(new Error(failure), { stack: '' }), token, false));
    },
  };
}

async function isDone(act: Promise<unknown>): Promise<boolean> {
  return await act.then(
    () => true,
    () => false,
  );
}

async function openOurs(client: Redis, runningJobs: RunningJobs): Promise<Side> {
  const { queue } = await openSide(client, 'ours');
  const atomic = atomicAsOne(client);
  const end = async (jobId: string, token: string, how: Parameters<RunningJobs['end']>[1]) =>
    (
      await atomic([
        runningJobs.end([{ jobId, token }], how),
        // Whether it is run shows whether the end was a guard that let it through.
        new RunningJobs(client, { prefix: 'none' }, LOCK_MS).take(token),
      ])
    ).length === 2;
  return {
    client,
    queue,
    async take() {
      const { job, nextDueAt } = await runningJobs.take(TOKEN)(client);
      if (!job) return { job, nextDueAt };
      return { job: seenOf(Job.fromJSON(queue, job.json as JobJson, job.jobId)), nextDueAt: undefined };
    },
    finish: (jobId, token = TOKEN) => end(jobId, token, { kind: 'done' }),
    delay: (jobId, delayMs, failure, token = TOKEN) =>
      end(jobId, token, { kind: 'delayed', delayMs, failure }),
  };
}

async function openSide(client: Redis, prefix: string) {
  const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client, prefix }));
  await queue.waitUntilReady();
  return { queue };
}

function seenOf(job: Job) {
  const { id, name, data, opts, timestamp, delay, priority, processedOn, attemptsStarted } = job;
  const { attemptsMade, stalledCounter, failedReason, deferredFailure, stacktrace } = job;
  return {
    ...{ id, name, data, opts, timestamp, delay, priority, processedOn, attemptsStarted },
    ...{ attemptsMade, stalledCounter, failedReason, deferredFailure, stacktrace },
  };
}

// Ours writes nothing to BullMQ's stream of events, and keeps no stack of a failed attempt. It has markers of
// its own: see below.
async function dumpOf(client: Redis, prefix: string): Promise<Record<string, unknown>> {
  const names = (await client.keys(`${prefix}:${DELIVERIES_QUEUE}:*`)).toSorted();
  const compared = names.filter((name) => !/:(events|marker)$/.test(name));
  const entries = compared.map(async (name) => [name.slice(prefix.length + 1), await valueOf(client, name)]);
  return Object.fromEntries(await Promise.all(entries)) as Record<string, unknown>;
}

async function valueOf(client: Redis, name: string): Promise<unknown> {
  switch (await client.type(name)) {
    case 'string':
      return [await client.get(name), (await client.pttl(name)) > LOCK_MS / 2];
    case 'list':
      return await client.lrange(name, 0, -1);
    case 'set':
      return (await client.smembers(name)).toSorted();
    case 'zset':
      return await client.zrange(name, '0', '-1', 'WITHSCORES');
    case 'hash': {
      const { stacktrace: _stacktrace, ...fields } = await client.hgetall(name);
      return fields;
    }
    default:
      return undefined;
  }
}

const add = ({ queue }: Side, jobId: string, opts: { priority?: number; delay?: number } = {}) =>
  queue.add('d', { account_id: 'acct' }, { jobId, attempts: 10_000, ...opts });

describe("a job is taken as by BullMQ's own worker", () => {
  it.each<[string, (side: Side) => Promise<unknown>]>([
    ['the only one, with a priority', (side) => add(side, 'one', { priority: 7 })],
    ['the only one, without', (side) => add(side, 'one')],
    [
      'the lowest priority first',
      async (side) => {
        for (const priority of [7, 3, 5]) await add(side, `p${priority}`, { priority });
      },
    ],
    [
      'of the same priority the one that came first',
      async (side) => {
        for (const id of ['a', 'b', 'c']) await add(side, id, { priority: 7 });
      },
    ],
    [
      'one without a priority before all that have one',
      async (side) => {
        await add(side, 'with', { priority: 1 });
        for (const id of ['first', 'second']) await add(side, id);
      },
    ],
    [
      'delayed ones that are overdue are put back at their priority; later ones stay',
      async (side) => {
        await add(side, 'waiting', { priority: 5 });
        await add(side, 'overdue, behind', { priority: 9, delay: 1_000 });
        await add(side, 'overdue, equal', { priority: 5, delay: 2_000 });
        await add(side, 'due now', { priority: 4, delay: 3_000 });
        await add(side, 'later', { priority: 1, delay: 3_001 });
        now = NOW + 3_000;
      },
    ],
    [
      'delayed ones that are overdue have no priority',
      async (side) => {
        await add(side, 'overdue', { delay: 1_000 });
        await add(side, 'overdue, too', { delay: 1_000 });
        now = NOW + 5_000;
      },
    ],
    ['none: the queue is empty', async () => {}],
    ['none: only delayed ones', (side) => add(side, 'later', { priority: 3, delay: HOUR_MS })],
    [
      'none, with a counter of priorities that is left',
      ({ client, queue }) => client.set(queue.toKey('pc'), '7'),
    ],
    [
      'none: the queue is paused',
      async (side) => {
        await add(side, 'one', { priority: 3 });
        await side.queue.pause();
      },
    ],
    [
      'none: the queue is paused, also for what is overdue',
      async (side) => {
        await add(side, 'one', { priority: 3, delay: 1_000 });
        await add(side, 'two', { delay: 1_000 });
        await side.queue.pause();
        now = NOW + 2_000;
      },
    ],
    [
      'none: as many run as may run in all workers together',
      async (side) => {
        for (const id of ['one', 'two']) await add(side, id);
        await side.queue.setGlobalConcurrency(1);
        await side.take();
      },
    ],
    [
      'one: fewer run than may run in all workers together',
      async (side) => {
        for (const id of ['one', 'two']) await add(side, id);
        await side.queue.setGlobalConcurrency(2);
        await side.take();
      },
    ],
    [
      'one that was tried, was taken over, and is to fail',
      async (side) => {
        await add(side, 'one', { priority: 2 });
        const fields = { ats: 4, atm: 2, stc: 1, failedReason: 'http_5xx', defa: 'It is too late.' };
        await side.client.hset(side.queue.toKey('one'), { ...fields, stacktrace: '["at one"]' });
      },
    ],
  ])('%s', async (_what, prepare) => {
    const { onBoth, dumpBoth } = await arrange();
    await onBoth(async (side) => {
      now = NOW;
      await prepare(side);
    });
    const [theirs, ours] = await onBoth((side) => side.take());
    expect(ours).toEqual(theirs);
    const [left, leftByOurs] = await dumpBoth();
    expect(leftByOurs).toEqual(left);
  });

  // What BullMQ has no value for is no number there. The options are those of all jobs.
  it('also when its record was removed meanwhile', async () => {
    const { onBoth, dumpBoth } = await arrange();
    const [theirs, ours] = await onBoth(async (side) => {
      await add(side, 'one', { priority: 2 });
      await side.client.del(side.queue.toKey('one'));
      return await side.take();
    });
    const nothing = { name: '', delay: 0, priority: 0, timestamp: 0, opts: { attempts: 10_000 } };
    expect(ours).toEqual({ ...theirs, job: { ...theirs.job, ...nothing } });
    const [left, leftByOurs] = await dumpBoth();
    expect(leftByOurs).toEqual(left);
  });

  it('until nothing is left', async () => {
    const { onBoth, dumpBoth } = await arrange();
    await onBoth(async (side) => {
      for (const priority of [3, 1, 2]) await add(side, `p${priority}`, { priority });
      await add(side, 'without');
    });
    const [theirs, ours] = await onBoth(async (side) => {
      const taken: unknown[] = [];
      for (let i = 0; i < 5; i += 1) taken.push(await side.take());
      return taken;
    });
    expect(ours).toEqual(theirs);
    const [left, leftByOurs] = await dumpBoth();
    expect(leftByOurs).toEqual(left);
  });
});

describe("a worker lets go of a job as BullMQ's own does", () => {
  const taken = async (side: Side) => {
    await add(side, 'one', { priority: 2 });
    await side.take();
  };

  describe.each<[string, (side: Side) => Promise<boolean>]>([
    ['that is done, and is removed', (side) => side.finish('one')],
    ['that is delayed, without an attempt', (side) => side.delay('one', 5_000)],
    ['that is delayed, since its attempt has failed', (side) => side.delay('one', 5_000, 'http_5xx')],
    ['that is due again at once', (side) => side.delay('one', 0)],
  ])('%s', (_what, letGo) => {
    it.each<[string, boolean, (side: Side) => Promise<unknown>]>([
      ['its own', true, async () => {}],
      ['its own, beside one that waits', true, (side) => add(side, 'two', { priority: 3 })],
      [
        'its own that another worker was about to take over',
        true,
        ({ client, queue }) => client.sadd(queue.toKey('stalled'), 'one', 'another'),
      ],
      [
        'not one that another worker has taken over',
        false,
        ({ client, queue }) => client.set(queue.toKey('one:lock'), 'another', 'PX', LOCK_MS),
      ],
      ['not one whose lock is gone', false, ({ client, queue }) => client.del(queue.toKey('one:lock'))],
      [
        'not one whose lock is gone and that waits again',
        false,
        async ({ client, queue }) => {
          await client.del(queue.toKey('one:lock'), queue.toKey('active'));
          await client.zadd(queue.toKey('prioritized'), 5, 'one');
        },
      ],
    ])('%s', async (_which, isTheirs, meanwhile) => {
      const { onBoth, dumpBoth } = await arrange();
      await onBoth(taken);
      await onBoth(meanwhile);
      expect(await onBoth(letGo)).toEqual([isTheirs, isTheirs]);
      const [left, leftByOurs] = await dumpBoth();
      expect(leftByOurs).toEqual(left);
    });
  });

  it('that are delayed until the same moment keep their order, also when they are very many', async () => {
    const { onBoth, dumpBoth } = await arrange();
    await onBoth(async (side) => {
      for (const id of ['one', 'two', 'three', 'four']) {
        await add(side, id);
        await side.take();
      }
      await side.delay('one', 5_000);
      await side.delay('two', 5_000);
      const last = (NOW + 5_001) * DELAYED_SCORE - 1;
      await side.client.zadd(side.queue.toKey('delayed'), last, 'the last that has a place of its own');
      await side.delay('three', 5_000);
      await side.delay('four', 4_999);
    });
    const [left, leftByOurs] = await dumpBoth();
    expect(leftByOurs).toEqual(left);
    expect(await onBoth(({ queue }) => queue.getDelayedCount())).toEqual([5, 5]);
  });

  it('that was delayed, and takes it again when it is due', async () => {
    const { onBoth, dumpBoth } = await arrange();
    await onBoth(taken);
    await onBoth((side) => side.delay('one', 5_000, 'http_5xx'));
    now += 5_000;
    const [theirs, ours] = await onBoth((side) => side.take());
    expect(ours).toEqual(theirs);
    expect(ours).toMatchObject({ job: { attemptsStarted: 2, attemptsMade: 1, failedReason: 'http_5xx' } });
    const [left, leftByOurs] = await dumpBoth();
    expect(leftByOurs).toEqual(left);
  });
});

// BullMQ refuses this, and leaves the job among the active ones until it has stalled.
it.each<[string, (side: Side) => Promise<boolean>]>([
  ['done', (side) => side.finish('one')],
  ['delayed', (side) => side.delay('one', 5_000, 'http_5xx')],
])('lets go of its job also when the record of that was removed meanwhile: %s', async (_what, letGo) => {
  const { ours, dumpBoth } = await arrange();
  const [, before] = await dumpBoth();
  await add(ours, 'one');
  await ours.take();
  await ours.client.del(ours.queue.toKey('one'));
  expect(await letGo(ours)).toBe(true);
  const { 'deliveries:id': _counter, ...left } = (await dumpBoth())[1];
  expect(left).toEqual(before);
});

// BullMQ's own worker wakes another one for each job that it takes, and learns only from an empty fetch that
// nothing waits.
describe('a worker lets go of several jobs at once', () => {
  it.each([
    { kind: 'done' } as const,
    { kind: 'delayed', delayMs: 5_000, failure: 'http_5xx' } as const,
    { kind: 'delayed', delayMs: 5_000 } as const,
  ])('as of each by itself: %j', async (end) => {
    const { ours, runningJobs, atomic, client } = await arrange();
    const ids = ['one', 'two', 'three'];
    const dumps = [];
    for (const isTogether of [true, false]) {
      await ours.queue.obliterate({ force: true });
      for (const id of ids) await add(ours, id);
      for (const _ of ids) await ours.take();
      const held = ids.map((jobId) => ({ jobId, token: TOKEN }));
      const sets = isTogether ? [held] : held.map((each) => [each]);
      for (const set of sets) await atomic([runningJobs.end(set, end)]);
      dumps.push(await dumpOf(client, 'ours'));
    }
    expect(dumps[0]).toEqual(dumps[1]);
  });

  it('but for those that it has lost, which stay as they are', async () => {
    const { ours, runningJobs, atomic } = await arrange();
    for (const id of ['one', 'two']) await add(ours, id);
    for (const _ of ['one', 'two']) await ours.take();
    const held = [
      { jobId: 'one', token: 'worker:2' },
      { jobId: 'two', token: TOKEN },
    ];
    const end = (jobs: typeof held) => atomic([runningJobs.end(jobs, { kind: 'done' }), async () => {}]);
    expect(await end(held)).toHaveLength(2);
    expect(await ours.queue.getJobCounts('active')).toEqual({ active: 1 });
    expect((await ours.queue.getJobs('active')).map(({ id }) => id)).toEqual(['one']);
  });
});

describe('the workers that rest are woken', () => {
  const JOBS_WAIT = ['0', '0'];

  it('when more jobs wait than the one that was taken, and not when none do', async () => {
    const { ours, runningJobs, client, markersOfOurs } = await arrange();
    for (const id of ['one', 'two']) await add(ours, id, { priority: 1 });
    await client.del(ours.queue.toKey('marker'));
    expect(await runningJobs.take(TOKEN)(client)).toMatchObject({ areMoreWaiting: true });
    expect(await markersOfOurs()).toEqual(JOBS_WAIT);
    expect(await runningJobs.take(TOKEN)(client)).toMatchObject({ areMoreWaiting: false });
    expect(await markersOfOurs()).toEqual([]);
    await add(ours, 'three');
    expect(await markersOfOurs()).toEqual(JOBS_WAIT);
    await runningJobs.take(TOKEN)(client);
    expect(await runningJobs.take(TOKEN)(client)).toEqual({ areMoreWaiting: false, nextDueAt: 0 });
    expect(await markersOfOurs()).toEqual([]);
  });

  it('for those that were overdue, too', async () => {
    const { ours, runningJobs, client, markersOfOurs } = await arrange();
    for (const id of ['one', 'two']) await add(ours, id, { priority: 1, delay: 1_000 });
    await client.del(ours.queue.toKey('marker'));
    now += 2_000;
    expect(await runningJobs.take(TOKEN)(client)).toMatchObject({ areMoreWaiting: true });
    expect(await markersOfOurs()).toEqual(JOBS_WAIT);
  });

  it('when a job is delayed and nothing else waits, at its time', async () => {
    const { ours, markersOfOurs } = await arrange();
    await add(ours, 'one');
    await ours.take();
    await ours.delay('one', 5_000);
    expect(await markersOfOurs()).toEqual(['1', String(NOW + 5_000)]);
  });

  it('for the jobs that wait, which tell when the delayed ones are due, otherwise', async () => {
    const { ours, runningJobs, client, markersOfOurs } = await arrange();
    for (const id of ['one', 'two']) await add(ours, id);
    await ours.take();
    await ours.delay('one', 5_000);
    expect(await markersOfOurs()).toEqual(JOBS_WAIT);
    const last = await runningJobs.take(TOKEN)(client);
    expect(last).toMatchObject({ job: { jobId: 'two' }, areMoreWaiting: false, nextDueAt: NOW + 5_000 });
  });

  it('for those that are added after the last one was taken, in the same script', async () => {
    const { client, atomic, runningJobs, markersOfOurs } = await arrange();
    const deliveryQueue = new DeliveryQueue(client, oneShard('ours'));
    const accountId = uniqueAccountId();
    const addOne = () => {
      const delivery = { accountId, eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
      return deliveryQueue.stepToAdd([delivery]);
    };
    const [, [taken]] = await Promise.all([
      atomic([addOne()]),
      atomic([runningJobs.take(TOKEN)]),
      atomic([addOne()]),
    ]);
    expect(taken).toMatchObject({ job: { token: TOKEN }, areMoreWaiting: false });
    expect(await markersOfOurs()).toEqual(JOBS_WAIT);
  });

  it('by nobody who may not take one: the queue is paused', async () => {
    const { ours, runningJobs, client, markersOfOurs } = await arrange();
    await add(ours, 'one');
    await ours.queue.pause();
    await client.del(ours.queue.toKey('marker'));
    await runningJobs.take(TOKEN)(client);
    expect(await markersOfOurs()).toEqual([]);
  });
});

describe('what a delivery needs is read together with its job', () => {
  async function arrangeDeliveries() {
    const { client, ours, runningJobs, atomic } = await arrange();
    const endpointStore = new EndpointStore(client, testSealer);
    const eventStore = new EventStore(client, testRetention);
    const deliveryStore = new DeliveryStore(client, testRetention);
    const endpoint = buildEndpoint();
    const { accountId, id: endpointId } = endpoint;
    const event = buildEvent({ accountId });
    const addJob = async (
      parts: { eventId: string; endpointId: string },
      data: object = { account_id: accountId },
    ) => {
      const jobId = deliveryIdOf(parts as Parameters<typeof deliveryIdOf>[0]);
      await ours.queue.add('d', data, { jobId });
      return jobId;
    };
    /** The texts that came with each reply. */
    const sent: (readonly string[])[] = [];
    return {
      sent,
      ...{ client, ours, endpointStore, eventStore, deliveryStore, endpoint, event, addJob },
      delivery: { accountId, endpointId, eventId: event.id },
      async takeAll(count: number, known?: Parameters<RunningJobs['take']>[1]) {
        const takeOne: Step<DeliveryTexts | undefined> = async (target) => {
          const { job } = await runningJobs.take(TOKEN, known)(target);
          if (target instanceof ScriptUnit) sent.push(target.texts);
          return job?.texts;
        };
        return (await Promise.all(Array.from({ length: count }, () => atomic([takeOne])))).flat();
      },
    };
  }

  it('as its stores read it', async () => {
    const scene = await arrangeDeliveries();
    const { delivery, endpoint, event, endpointStore, eventStore, deliveryStore } = scene;
    const { accountId, endpointId, eventId } = delivery;
    await endpointStore.create(endpoint);
    await eventStore.save(event)(scene.client);
    await deliveryStore.append(delivery, {
      kind: 'attempted',
      attempt: buildAttempt(),
      nextAttemptAt: undefined,
    });
    await scene.client.set(keys.breaker(endpointId), `3 0 ${NOW} 0`);
    await scene.addJob(delivery);
    const [texts] = await scene.takeAll(1);
    if (!texts) throw new Error('Nothing was read.');
    const { log, breaker, endpoint: endpointText, event: eventText = null, readAt } = texts;
    expect(deliveryStore.decodeWithBreaker(log, breaker)).toEqual(
      await deliveryStore.readWithBreaker(delivery),
    );
    const decoded = endpointStore.decode(accountId, endpointId, endpointText);
    expect(decoded).toEqual(await endpointStore.find(accountId, endpointId));
    expect(decoded).toBeDefined();
    const fresh = new EventStore(scene.client, testRetention);
    expect(fresh.decode(accountId, eventId, eventText, readAt)).toEqual(event);
  });

  it('as far as it is there', async () => {
    const { addJob, delivery, takeAll } = await arrangeDeliveries();
    await addJob(delivery);
    const nothing = { log: null, breaker: null, endpoint: null, event: null };
    expect(await takeAll(1)).toEqual([{ ...nothing, readAt: expect.any(Number) }]);
  });

  it('without the event, if the worker knows that', async () => {
    const { client, addJob, delivery, eventStore, event, takeAll } = await arrangeDeliveries();
    await eventStore.save(event)(client);
    await addJob(delivery);
    expect(await takeAll(1, event.id)).toMatchObject([{ event: undefined, endpoint: null }]);
  });

  it('once for several jobs of one script that need the same', async () => {
    const { client, addJob, delivery, endpointStore, eventStore, endpoint, event, takeAll, sent } =
      await arrangeDeliveries();
    const other = { ...event, id: uniqueEventId(), type: 'keyword.lost' };
    await endpointStore.create(endpoint);
    for (const each of [event, other]) await eventStore.save(each)(client);
    await addJob(delivery);
    await addJob({ ...delivery, endpointId: uniqueEndpointId() });
    await addJob({ ...delivery, eventId: other.id });
    const texts = await takeAll(3);
    const [first, second, third] = texts.map((one) => ({ endpoint: one?.endpoint, event: one?.event }));
    expect(second).toEqual({ endpoint: null, event: first?.event });
    expect(third?.endpoint).toBe(first?.endpoint);
    expect(third?.event).toContain('keyword.lost');
    const each = [first?.endpoint, first?.event, third?.event];
    expect(sent).toEqual([each, each, each]);
  });

  it.each<[string, (scene: Awaited<ReturnType<typeof arrangeDeliveries>>) => Promise<unknown>]>([
    ['its id is not a delivery', ({ ours }) => ours.queue.add('d', { account_id: 'acct' }, { jobId: 'one' })],
    ['its data names no account', ({ addJob, delivery }) => addJob(delivery, { account: 'acct' })],
    [
      'its data is not JSON',
      async ({ addJob, delivery, client, ours }) =>
        client.hset(ours.queue.toKey(await addJob(delivery)), 'data', '{"broken'),
    ],
    [
      'its record was removed',
      async ({ addJob, delivery, client, ours }) => client.del(ours.queue.toKey(await addJob(delivery))),
    ],
  ])('and not at all, but it is taken, when %s', async (_what, addOne) => {
    const scene = await arrangeDeliveries();
    await addOne(scene);
    expect(await scene.takeAll(1)).toEqual([undefined]);
    expect(await scene.ours.queue.getActiveCount()).toBe(1);
  });

  it('but not in a Cluster, where it is on other nodes', async () => {
    const { client, addJob, delivery } = await arrangeDeliveries();
    await addJob(delivery);
    const cluster = new Cluster([], { lazyConnect: true });
    const ofCluster = new RunningJobs(cluster, { prefix: 'ours' }, LOCK_MS);
    expect((await ofCluster.take(TOKEN)(client)).job).toMatchObject({ texts: undefined });
  });
});
