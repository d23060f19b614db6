import { DUE_WITHIN_MS, deliveryIdOf } from '../domain/delivery';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { atomicAsOne } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { MateJobs } from './bullmq-delivery-mates';
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
const WANTED = { most: 99, maxBytes: 1_000_000, isInOrder: false, ties: false };

/** Deliveries of one endpoint that wait on the queue, in the order of acceptance. */
async function arrange(count: number) {
  const { client } = willClose(await openTestRedis());
  const shards = oneShard(PREFIX);
  const runningJobs = new RunningJobs(client, { prefix: PREFIX }, LOCK_MS);
  const mateJobs = new MateJobs(client, { prefix: PREFIX }, LOCK_MS);
  const heldDeliveries = new HeldDeliveries(client, shards);
  const jobKeys = createJobKeys(PREFIX, DELIVERIES_QUEUE);
  const atomic = atomicAsOne(client);
  const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
  const { endpointId } = address;
  const jobIdOf = (eventId: EventId) => deliveryIdOf({ eventId, endpointId });
  const events = Array.from({ length: count }, () => uniqueEventId());
  const acceptedAt = (eventId: EventId) => ACCEPTED_AT + events.indexOf(eventId);
  const deliveries = events.map((eventId) => ({ ...address, eventId, acceptedAt: acceptedAt(eventId) }));
  await willClose(new DeliveryQueue(client, shards)).addAll(deliveries);
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
    async takeMates(first: EventId, wanted: Partial<typeof WANTED> = {}) {
      const all = { ...WANTED, ...wanted };
      const taken = await mateJobs.take(address, first, 'worker:mates', all)(client);
      return { ...taken, events: taken.jobs.map(({ eventId }) => eventId) };
    },
    /** As a worker does it: what they need is read along. */
    async readMates(first: EventId, wanted: Partial<typeof WANTED> = {}) {
      const all = { ...WANTED, ...wanted };
      const [{ jobs }] = await atomic([mateJobs.take(address, first, 'worker:mates', all)]);
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
    tie: (...some: readonly EventId[]) => atomic([mateJobs.tie(endpointId, some)]),
    untie: (first: EventId) => atomic([mateJobs.untie(endpointId, first)]),
    follows: (eventId: EventId) => mateJobs.follows(endpointId, eventId)(client),
    jobCount: async () => (await client.keys(`${jobKeys.base}*.${endpointId}`)).length,
    heldCount: () => heldDeliveries.count(endpointId),
    lockOf: (eventId: EventId) => client.get(jobKeys.lock(jobIdOf(eventId))),
    delayUntil: (eventId: EventId, at: number) =>
      client.zadd(jobKeys.delayed, 'XX', at * DELAYED_SCORE, jobIdOf(eventId)),
    isDelayed: async (eventId: EventId) => (await client.zscore(jobKeys.delayed, jobIdOf(eventId))) !== null,
  };
}

type Arranged = Awaited<ReturnType<typeof arrange>>;

/** Those that were sent together, and failed: the first one has taken the others, and all are delayed. */
async function failTogether({ events, takeNext, takeMates, tie, end }: Arranged, delayMs = 0) {
  const first = await takeNext();
  const mates = await takeMates(first);
  await tie(...events);
  await end(first, 'worker:1', delayMs);
  for (const each of mates.events) await end(each, 'worker:mates', delayMs);
}

describe('a delivery takes others of its endpoint along', () => {
  it('those that wait, in their order, with a lock of their own', async () => {
    const { events, takeNext, takeMates, lockOf } = await arrange(3);
    const taken = await takeMates(await takeNext());
    expect(taken).toMatchObject({ tied: [], busy: [], events: events.slice(1) });
    expect(await lockOf(events[2] as EventId)).toBe('worker:mates');
  });

  it('those that are held first, and takes their entries away', async () => {
    const arranged = await arrange(4);
    const { events, takeNext, end, hold, takeMates, heldCount } = arranged;
    const [first, second] = [await takeNext(), await takeNext()];
    await hold(second);
    await end(second, 'worker:1', HOUR_MS);
    const taken = await takeMates(first, { most: 2 });
    expect(taken.events).toEqual(events.slice(1, 3));
    expect(await heldCount()).toBe(0);
  });

  it('in order, those that are held and no others', async () => {
    const { takeNext, end, hold, takeMates } = await arrange(4);
    const [first, second] = [await takeNext(), await takeNext()];
    await hold(second);
    await end(second, 'worker:1', HOUR_MS);
    expect((await takeMates(first, { isInOrder: true })).events).toEqual([second]);
  });

  it('none that another worker has', async () => {
    const { takeNext, takeMates } = await arrange(2);
    const [first] = [await takeNext(), await takeNext()];
    expect((await takeMates(first)).events).toEqual([]);
  });

  it('and is told which are on their way to being held', async () => {
    const { takeNext, hold, takeMates, end, heldCount } = await arrange(2);
    const [first, second] = [await takeNext(), await takeNext()];
    await hold(second);
    expect(await takeMates(first)).toMatchObject({ tied: [], busy: [second], events: [] });
    await end(second, 'worker:1', HOUR_MS);
    expect(await takeMates(first)).toMatchObject({ busy: [], events: [second] });
    expect(await heldCount()).toBe(0);
  });

  it('none that is to go with others', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged);
    const { takeMates } = arranged;
    expect((await takeMates(uniqueEventId())).events).toEqual([]);
  });
});

describe('what they need is read along', () => {
  it('as it is stored, of each and of their endpoint', async () => {
    const { events, address, store, takeNext, readMates } = await arrange(3);
    await store(...events.slice(0, 2));
    const [second, third] = await readMates(await takeNext());
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
    const { events, store, takeNext, readMates, lockOf } = await arrange(4);
    await store(...events);
    const first = await takeNext();
    const maxBytes = 2 * `the event ${first}`.length;
    expect((await readMates(first, { maxBytes })).map(({ eventId }) => eventId)).toEqual(events.slice(1, 3));
    expect(await lockOf(events[3] as EventId)).toBeNull();
    expect(await takeNext()).toBe(events[3]);
  });
});

describe('those that are new are tied when they are taken', () => {
  it('so that they go together, though their worker ends at once', async () => {
    const { events, takeNext, takeMates, end, follows } = await arrange(4);
    const [first, second, third] = events as [EventId, EventId, EventId];
    await takeNext();
    await takeMates(first, { most: 2, ties: true });
    await end(second, 'worker:mates', 0);
    await end(third, 'worker:mates', 0);
    expect(await follows(third)).toBe(true);
    expect(await takeMates(first)).toMatchObject({ tied: [first, second, third], events: [second, third] });
  });

  it('not while one has to be waited for', async () => {
    const { takeNext, hold, takeMates } = await arrange(3);
    const [first, second] = [await takeNext(), await takeNext()];
    await hold(second);
    expect(await takeMates(first, { ties: true })).toMatchObject({ busy: [second], tied: [] });
    expect(await takeMates(first, { ties: true })).toMatchObject({ busy: [second], tied: [] });
  });

  it('and go apart when they are let go', async () => {
    const { events, takeNext, takeMates, end, untie, follows } = await arrange(3);
    const [first, second, third] = events as [EventId, EventId, EventId];
    await takeNext();
    await takeMates(first, { most: 1, ties: true });
    await untie(first);
    await end(second, 'worker:mates', 0);
    expect(await follows(second)).toBe(false);
    expect(await takeMates(first)).toMatchObject({ tied: [], events: [third] });
  });

  it('never a job that is gone: none comes back', async () => {
    const { takeNext, takeMates, end, jobCount } = await arrange(1);
    const first = await takeNext();
    await end(first, 'worker:1');
    await takeMates(first, { ties: true });
    expect(await jobCount()).toBe(0);
  });
});

describe('those that were sent together go together again', () => {
  it('when they are due, whichever of them is taken first', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged);
    const { events, takeNext, takeMates, follows } = arranged;
    const [first, second, third] = events as [EventId, EventId, EventId];
    expect(await Promise.all([first, second, third].map(follows))).toEqual([false, true, true]);
    expect(await takeNext()).toBe(first);
    expect(await takeMates(first)).toMatchObject({ tied: events, events: [second, third] });
  });

  it('and no others with them', async () => {
    const arranged = await arrange(3);
    const { takeNext, takeMates, tie, end } = arranged;
    const [first, second] = arranged.events as [EventId, EventId];
    await takeNext();
    await takeMates(first, { most: 1 });
    await tie(first, second);
    await end(second, 'worker:mates', 0);
    expect((await takeMates(first)).events).toEqual([second]);
  });

  it('though they are due a moment later, and not those that are due much later', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged, HOUR_MS);
    const [first, second, third] = arranged.events as [EventId, EventId, EventId];
    await arranged.delayUntil(first, Date.now());
    await arranged.delayUntil(second, Date.now() + DUE_WITHIN_MS / 2);
    await arranged.delayUntil(third, Date.now() + HOUR_MS);
    const taken = await arranged.takeMates(first);
    expect(taken).toMatchObject({ tied: arranged.events, events: [second], busy: [] });
    expect(await arranged.follows(third)).toBe(true);
  });

  it('and tell which of them run elsewhere', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged);
    const { events, takeNext, takeMates } = arranged;
    const [first, second] = [await takeNext(), await takeNext()];
    expect(await takeMates(first)).toMatchObject({ busy: [second], events: [events[2]] });
  });

  it('with the one that is taken, while the first one is held', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged, HOUR_MS);
    const [first, second, third] = arranged.events as [EventId, EventId, EventId];
    for (const each of [second, third]) await arranged.delayUntil(each, Date.now());
    await arranged.hold(first);
    expect(await arranged.follows(second)).toBe(false);
    expect(await arranged.takeMates(second)).toMatchObject({ events: [first, third] });
    expect(await arranged.heldCount()).toBe(0);
  });

  it('not those that were tied to others since', async () => {
    const arranged = await arrange(4);
    await failTogether(arranged);
    const [first, second, third, fourth] = arranged.events as [EventId, EventId, EventId, EventId];
    await arranged.tie(third, fourth);
    expect((await arranged.takeMates(first)).events).toEqual([second]);
    expect(await arranged.follows(third)).toBe(false);
    expect(await arranged.follows(fourth)).toBe(true);
    expect((await arranged.takeMates(third)).events).toEqual([fourth]);
  });

  it('not when the first one has ended: what is left may go with others', async () => {
    const arranged = await arrange(3);
    await failTogether(arranged);
    const { events, takeNext, end, takeMates, follows } = arranged;
    await end(await takeNext(), 'worker:1');
    const [, second, third] = events as [EventId, EventId, EventId];
    expect(await follows(third)).toBe(false);
    expect(await takeNext()).toBe(second);
    expect(await takeMates(second)).toMatchObject({ tied: [], events: [third] });
  });
});
