import { DUE_WITHIN_MS, deliveryIdOf } from '../domain/delivery';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { atomicAsOne } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { BatchJobs } from './bullmq-batch-jobs';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { HeldDeliveries } from './bullmq-held-deliveries';
import { createJobKeys, DELAYED_SCORE } from './bullmq-layout';
import { RunningJobs } from './bullmq-running-jobs';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const PREFIX = 'bull';
const LOCK_MS = 30_000;
const HOUR_MS = 3_600_000;
const ACCEPTED_AT = 1_700_000_000_000;
const WANTED = { most: 99, maxBytes: 1_000_000, isInOrder: false, formsBatch: false };

/** Deliveries of one endpoint that wait on the queue, in the order of acceptance. */
async function arrange(count: number) {
  const { client } = willClose(await openTestRedis());
  const shards = oneShard(PREFIX);
  const runningJobs = new RunningJobs(client, { prefix: PREFIX }, LOCK_MS);
  const batchJobs = new BatchJobs(client, { prefix: PREFIX }, LOCK_MS);
  const heldDeliveries = new HeldDeliveries(client, shards);
  const jobKeys = createJobKeys(PREFIX, DELIVERIES_QUEUE);
  const atomic = atomicAsOne(client);
  const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
  const { endpointId } = address;
  const jobIdOf = (eventId: EventId) => deliveryIdOf({ eventId, endpointId });
  const events = Array.from({ length: count }, () => uniqueEventId());
  const acceptedAt = (eventId: EventId) => ACCEPTED_AT + events.indexOf(eventId);
  const deliveries = events.map((eventId) => ({ ...address, eventId, acceptedAt: acceptedAt(eventId) }));
  await new DeliveryQueue(client, shards).addAll(deliveries);
  return {
    events,
    heldDeliveries,
    address,
    /** As a worker does that takes its next job. */
    async takeNext(): Promise<EventId> {
      const { job } = await runningJobs.take('worker:1')(client);
      return (job?.jobId ?? '').split('.')[0] as EventId;
    },
    async end(eventId: EventId, token: string, delayMs?: number) {
      const end =
        delayMs === undefined ? ({ kind: 'done' } as const) : ({ kind: 'delayed', delayMs } as const);
      await atomic([runningJobs.end([{ jobId: jobIdOf(eventId), token }], end)]);
    },
    async hold(eventId: EventId) {
      const entry = { eventId, acceptedAt: acceptedAt(eventId) };
      await heldDeliveries.enter(address, entry, ACCEPTED_AT, 'batching');
    },
    async takeOthers(first: EventId, wanted: Partial<typeof WANTED> = {}) {
      const all = { ...WANTED, ...wanted };
      const taken = await batchJobs.take(address, first, 'worker:others', all)(client);
      return { ...taken, events: taken.jobs.map(({ eventId }) => eventId) };
    },
    /** As a worker does it: what they need is read in the same script. */
    async readOthers(first: EventId, wanted: Partial<typeof WANTED> = {}) {
      const all = { ...WANTED, ...wanted };
      const [{ jobs }] = await atomic([batchJobs.take(address, first, 'worker:others', all)]);
      return jobs;
    },
    /** What their attempts need. */
    async store(...some: readonly EventId[]) {
      const { accountId } = address;
      await client.hset(keys.endpoints(accountId), endpointId, 'the endpoint');
      for (const id of some) {
        await client.set(keys.event(accountId, id), `the event ${id}`);
        await client.set(keys.delivery(endpointId, id), `the log of ${id}`);
      }
    },
    keepTogether: (...some: readonly EventId[]) => atomic([batchJobs.keepTogether(endpointId, some)]),
    dissolve: (primary: EventId) => atomic([batchJobs.dissolve(endpointId, primary)]),
    isTaken: (eventId: EventId) => batchJobs.isTakenByAnother(endpointId, eventId)(client),
    jobCount: async () => (await client.keys(`${jobKeys.base}*.${endpointId}`)).length,
    heldCount: () => heldDeliveries.count(endpointId),
    lockOf: (eventId: EventId) => client.get(jobKeys.lock(jobIdOf(eventId))),
    delayUntil: (eventId: EventId, at: number) =>
      client.zadd(jobKeys.delayed, 'XX', at * DELAYED_SCORE, jobIdOf(eventId)),
    isDelayed: async (eventId: EventId) => (await client.zscore(jobKeys.delayed, jobIdOf(eventId))) !== null,
  };
}

type Arranged = Awaited<ReturnType<typeof arrange>>;

/** Those that were sent together, and failed: the first one, the primary, has taken the others, and all are delayed. */
async function failTogether({ events, takeNext, takeOthers, keepTogether, end }: Arranged, delayMs = 0) {
  const first = await takeNext();
  const others = await takeOthers(first);
  await keepTogether(...events);
  await end(first, 'worker:1', delayMs);
  for (const each of others.events) await end(each, 'worker:others', delayMs);
}

describe('a delivery takes others of its endpoint into its batch', () => {
  it('those that wait, in their order, with a lock of their own', async () => {
    const { events, takeNext, takeOthers, lockOf } = await arrange(3);
    const taken = await takeOthers(await takeNext());
    expect(taken).toMatchObject({ sentBefore: [], busy: [], events: events.slice(1) });
    expect(await lockOf(events[2] as EventId)).toBe('worker:others');
  });

  it('those that are held first, and takes their entries away', async () => {
    const arranged = await arrange(4);
    const { events, takeNext, end, hold, takeOthers, heldCount } = arranged;
    const [first, second] = [await takeNext(), await takeNext()];
    await hold(second);
    await end(second, 'worker:1', HOUR_MS);
    const taken = await takeOthers(first, { most: 2 });
    expect(taken.events).toEqual(events.slice(1, 3));
    expect(await heldCount()).toBe(0);
  });

  it('in order, those that are held and no others', async () => {
    const { takeNext, end, hold, takeOthers } = await arrange(4);
    const [first, second] = [await takeNext(), await takeNext()];
    await hold(second);
    await end(second, 'worker:1', HOUR_MS);
    expect((await takeOthers(first, { isInOrder: true })).events).toEqual([second]);
  });

  it('none that another worker has', async () => {
    const { takeNext, takeOthers } = await arrange(2);
    const [first] = [await takeNext(), await takeNext()];
    expect((await takeOthers(first)).events).toEqual([]);
  });

  it('and is told which are on their way to being held', async () => {
    const { takeNext, hold, takeOthers, end, heldCount } = await arrange(2);
    const [first, second] = [await takeNext(), await takeNext()];
    await hold(second);
    expect(await takeOthers(first)).toMatchObject({ sentBefore: [], busy: [second], events: [] });
    await end(second, 'worker:1', HOUR_MS);
    expect(await takeOthers(first)).toMatchObject({ busy: [], events: [second] });
    expect(await heldCount()).toBe(0);
  });

  it('none that is to go with others', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged);
    const { takeOthers } = arranged;
    expect((await takeOthers(uniqueEventId())).events).toEqual([]);
  });
});

describe('what they need is read in the same script', () => {
  it('as it is stored, of each and of their endpoint', async () => {
    const { events, address, store, takeNext, readOthers } = await arrange(3);
    await store(...events.slice(0, 2));
    const [second, third] = await readOthers(await takeNext());
    const common = { breaker: null, endpoint: 'the endpoint' };
    expect(second).toMatchObject({
      id: deliveryIdOf({ eventId: events[1] as EventId, endpointId: address.endpointId }),
      attemptsStarted: 1,
      stalledCounter: 0,
      data: JSON.stringify({ account_id: address.accountId }),
      texts: { ...common, log: `the log of ${events[1]}`, event: `the event ${events[1]}` },
    });
    expect(third).toMatchObject({ texts: { ...common, log: null, event: null } });
  });

  it('as far as their events have room: those that do not stay where they wait', async () => {
    const { events, store, takeNext, readOthers, lockOf } = await arrange(4);
    await store(...events);
    const first = await takeNext();
    const maxBytes = 2 * `the event ${first}`.length;
    expect((await readOthers(first, { maxBytes })).map(({ eventId }) => eventId)).toEqual(events.slice(1, 3));
    expect(await lockOf(events[3] as EventId)).toBeNull();
    expect(await takeNext()).toBe(events[3]);
  });
});

describe('those that are in no batch are recorded as one when they are taken', () => {
  it('so that they go together, though their worker ends at once', async () => {
    const { events, takeNext, takeOthers, end, isTaken } = await arrange(4);
    const [first, second, third] = events as [EventId, EventId, EventId];
    await takeNext();
    await takeOthers(first, { most: 2, formsBatch: true });
    await end(second, 'worker:others', 0);
    await end(third, 'worker:others', 0);
    expect(await isTaken(third)).toBe(true);
    expect(await takeOthers(first)).toMatchObject({
      sentBefore: [first, second, third],
      events: [second, third],
    });
  });

  it('not while one has to be waited for', async () => {
    const { takeNext, hold, takeOthers } = await arrange(3);
    const [first, second] = [await takeNext(), await takeNext()];
    await hold(second);
    expect(await takeOthers(first, { formsBatch: true })).toMatchObject({ busy: [second], sentBefore: [] });
    expect(await takeOthers(first, { formsBatch: true })).toMatchObject({ busy: [second], sentBefore: [] });
  });

  it('and need not go together once it is dissolved', async () => {
    const { events, takeNext, takeOthers, end, dissolve, isTaken } = await arrange(3);
    const [first, second, third] = events as [EventId, EventId, EventId];
    await takeNext();
    await takeOthers(first, { most: 1, formsBatch: true });
    await dissolve(first);
    await end(second, 'worker:others', 0);
    expect(await isTaken(second)).toBe(false);
    expect(await takeOthers(first)).toMatchObject({ sentBefore: [], events: [third] });
  });

  it('never a job that is gone: none comes back', async () => {
    const { takeNext, takeOthers, end, jobCount } = await arrange(1);
    const first = await takeNext();
    await end(first, 'worker:1');
    await takeOthers(first, { formsBatch: true });
    expect(await jobCount()).toBe(0);
  });
});

describe('those that were sent together go together again', () => {
  it('when they are due, whichever of them is taken first', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged);
    const { events, takeNext, takeOthers, isTaken } = arranged;
    const [first, second, third] = events as [EventId, EventId, EventId];
    expect(await Promise.all([first, second, third].map(isTaken))).toEqual([false, true, true]);
    expect(await takeNext()).toBe(first);
    expect(await takeOthers(first)).toMatchObject({ sentBefore: events, events: [second, third] });
  });

  it('and no others with them', async () => {
    const arranged = await arrange(3);
    const { takeNext, takeOthers, keepTogether, end } = arranged;
    const [first, second] = arranged.events as [EventId, EventId];
    await takeNext();
    await takeOthers(first, { most: 1 });
    await keepTogether(first, second);
    await end(second, 'worker:others', 0);
    expect((await takeOthers(first)).events).toEqual([second]);
  });

  it('though they are due a moment later, and not those that are due much later', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged, HOUR_MS);
    const [first, second, third] = arranged.events as [EventId, EventId, EventId];
    await arranged.delayUntil(first, Date.now());
    await arranged.delayUntil(second, Date.now() + DUE_WITHIN_MS / 2);
    await arranged.delayUntil(third, Date.now() + HOUR_MS);
    const taken = await arranged.takeOthers(first);
    expect(taken).toMatchObject({ sentBefore: arranged.events, events: [second], busy: [] });
    expect(await arranged.isTaken(third)).toBe(true);
  });

  it('and tell which of them run elsewhere', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged);
    const { events, takeNext, takeOthers } = arranged;
    const [first, second] = [await takeNext(), await takeNext()];
    expect(await takeOthers(first)).toMatchObject({ busy: [second], events: [events[2]] });
  });

  it('with the one that is taken, while the first one is held', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged, HOUR_MS);
    const [first, second, third] = arranged.events as [EventId, EventId, EventId];
    for (const each of [second, third]) await arranged.delayUntil(each, Date.now());
    await arranged.hold(first);
    expect(await arranged.isTaken(second)).toBe(false);
    expect(await arranged.takeOthers(second)).toMatchObject({ events: [first, third] });
    expect(await arranged.heldCount()).toBe(0);
  });

  it('not those that were put into another batch since', async () => {
    const arranged = await arrange(4);
    await failTogether(arranged);
    const [first, second, third, fourth] = arranged.events as [EventId, EventId, EventId, EventId];
    await arranged.keepTogether(third, fourth);
    expect((await arranged.takeOthers(first)).events).toEqual([second]);
    expect(await arranged.isTaken(third)).toBe(false);
    expect(await arranged.isTaken(fourth)).toBe(true);
    expect((await arranged.takeOthers(third)).events).toEqual([fourth]);
  });

  it('not when the first one has ended: what is left may go with others', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged);
    const { events, takeNext, end, takeOthers, isTaken } = arranged;
    await end(await takeNext(), 'worker:1');
    const [, second, third] = events as [EventId, EventId, EventId];
    expect(await isTaken(third)).toBe(false);
    expect(await takeNext()).toBe(second);
    expect(await takeOthers(second)).toMatchObject({ sentBefore: [], events: [third] });
  });
});
