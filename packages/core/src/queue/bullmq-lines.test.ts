import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { decodeHolds, laneJobIdOf, type NewDelivery } from '../domain/delivery';
import { laneNameOf, lineOf } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard, type QueueShard } from '../domain/queues';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { createAtomic } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeliveryHolds } from './bullmq-delivery-holds';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { HeldDeliveries } from './bullmq-held-deliveries';
import { createJobKeys } from './bullmq-layout';
import { openQueue } from './bullmq-on-demand-queue';
import { RunningBatches } from './bullmq-running-batches';
import { RunningJobs, type TakenJob } from './bullmq-running-jobs';
import { type OwnedLane, RunningLanes } from './bullmq-running-lanes';
import { HeldCounts } from './redis-held-counts';

const NOW = 1_700_000_000_000;
const LOCK_MS = 30_000;
const shards = oneShard(QUEUE_PREFIX);
const shard: QueueShard = { prefix: QUEUE_PREFIX };
const shardKeys = queueKeysOf(QUEUE_PREFIX);

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** Three events of the group `a`, and one of `b`. */
async function arrange() {
  const { client } = willClose(await openTestRedis());
  const accountId = uniqueAccountId();
  const endpointId = uniqueEndpointId();
  const address = { accountId, endpointId };
  const queue = new DeliveryQueue(client, shards);
  const runningJobs = new RunningJobs(client, shard, LOCK_MS);
  const lanes = new RunningLanes(client, shard);
  const batches = new RunningBatches(client, shard, LOCK_MS);
  const held = new HeldDeliveries(client, shards);
  const holds = new DeliveryHolds(client, shards);
  const heldCounts = new HeldCounts(client, shards);
  const atomic = createAtomic(client);
  const events = [uniqueEventId(), uniqueEventId(), uniqueEventId(), uniqueEventId()] as const;
  const groupOf = (eventId: EventId) => (eventId === events[3] ? 'b' : 'a');
  let tokens = 0;

  function entry(eventId: EventId, more: Partial<NewDelivery> = {}): NewDelivery {
    const line = lineOf({ ordering: 'group' }, groupOf(eventId));
    const acceptedAt = NOW + events.indexOf(eventId);
    return { ...address, eventId, acceptedAt, isInLane: true, line, ...more };
  }

  function takeStep() {
    tokens += 1;
    return runningJobs.take(`token-${tokens}`);
  }

  async function take(): Promise<TakenJob | undefined> {
    const [{ job }] = await atomic([takeStep()]);
    return job;
  }

  async function mustTake(): Promise<TakenJob & { readonly eventId: EventId }> {
    const job = await take();
    if (!job?.head?.eventId) throw new Error('Nothing waits.');
    return { ...job, eventId: job.head.eventId };
  }

  function laneOf({ token, eventId }: TakenJob & { readonly eventId: EventId }): OwnedLane {
    const lane = laneNameOf(endpointId, lineOf({ ordering: 'group' }, groupOf(eventId)));
    return { ...address, lane, token, wasHeld: false };
  }

  type Running = Awaited<ReturnType<typeof mustTake>>;

  async function end(job: Running, eventId = job.eventId): Promise<void> {
    await atomic([lanes.end(laneOf(job), { eventId, hasRequest: false }, 'nothing')]);
  }

  async function delay(job: Running, failure?: string): Promise<void> {
    const after = { kind: 'delayed', delayMs: 60_000, failure } as const;
    await atomic([runningJobs.end([job], after, failure === undefined ? job.eventId : undefined)]);
  }

  return {
    client,
    address,
    queue,
    lanes,
    batches,
    held,
    holds,
    counts: {
      async read() {
        const all = Object.entries(await heldCounts.read());
        return Object.fromEntries(all.filter(([, count]) => count > 0));
      },
    },
    events,
    entry,
    takeStep,
    take,
    mustTake,
    laneOf,
    atomic,
    end,
    delay,
    async close(job: Running, isBehindJob = false): Promise<void> {
      const { place = 0 } = job.head ?? {};
      const hold = { reason: 'busy', since: NOW, wakeUpAt: NOW, previousStartedAt: undefined } as const;
      await lanes.hold(laneOf(job), { ...hold, isBehindJob }, { eventId: job.eventId, acceptedAt: place });
    },
    /** The webhook has changed. */
    async wakeAll() {
      await held.askForWakeUp(address, NOW, true);
      const wakeUpWasDueAt = await held.wakeUpDueAt(address);
      const request = { most: 0, wakeUpWasDueAt, wakeUpAgainAt: NOW + 9, now: NOW };
      expect(await held.release(address, request)).toMatchObject({ hasMoreLines: false });
    },
    async wakeUp(most = 1) {
      const wakeUpWasDueAt = await held.wakeUpDueAt(address);
      return await held.release(address, { most, wakeUpWasDueAt, wakeUpAgainAt: NOW + 9, now: NOW });
    },
    async heldOf() {
      return [...(await held.findHeld(endpointId, events))];
    },
    async keysLeft() {
      const { tag } = shardKeys;
      const patterns = ['lane', 'carried', 'grouped', 'lines', 'held'].map((name) => `${name}:${tag}:*`);
      const found = await Promise.all([...patterns, `behind-heads:${tag}`].map((each) => client.keys(each)));
      return found.flat();
    },
  };
}

it('waits for a delivery of its group that fails for good in the same script, after other groups were looked at', async () => {
  const { client, queue, lanes, atomic, events, entry, mustTake, laneOf, takeStep } = await arrange();
  const [first, second, , other] = events;
  await queue.addAll([entry(first), entry(other), entry(second)]);
  const job = await mustTake();

  const { endpointId } = laneOf(job);
  const line = lineOf({ ordering: 'group' }, 'a');
  const place = { eventId: first, acceptedAt: NOW, line };
  const [[{ job: ofOther }], , [dead], [{ job: next }]] = await Promise.all([
    atomic([takeStep()]),
    atomic([
      new BesideLanes(client).join(endpointId, [place]),
      lanes.failHead(laneOf(job), first, 'no such secret'),
    ]),
    atomic([takeStep()]),
    atomic([takeStep()]),
  ]);
  expect(ofOther?.head).toMatchObject({ eventId: other, turn: 'first', isBesideJobs: false });
  expect(dead.job?.json).toMatchObject({ deferredFailure: 'no such secret' });
  expect(next?.head).toMatchObject({ eventId: second, turn: 'behind_job', isBesideJobs: true });
});

it('sends two groups beside each other, each in its order, and leaves nothing behind', async () => {
  const { queue, events, entry, mustTake, take, end, keysLeft } = await arrange();
  const [first, second, , other] = events;
  await queue.addAll([entry(first), entry(other), entry(second)]);

  const running = [await mustTake(), await mustTake()];
  expect(await take()).toBeUndefined();
  expect(running.map(({ eventId }) => eventId).toSorted()).toEqual([first, other].toSorted());
  for (const job of running) await end(job);
  const last = await mustTake();
  expect(last.eventId).toBe(second);
  await end(last);
  expect(await take()).toBeUndefined();
  expect(await keysLeft()).toEqual([]);
});

it('stores of a new line only what differs from one to the next, and gives its job the options of all', async () => {
  const { client, queue, address, events, entry, mustTake, laneOf } = await arrange();
  await queue.addAll([entry(events[0])]);
  const lane = laneNameOf(address.endpointId, lineOf({ ordering: 'group' }, 'a'));
  const stored = await client.hkeys(createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE).job(laneJobIdOf(lane)));
  expect(stored.toSorted()).toEqual(['data', 'name', 'priority', 'timestamp']);
  const job = await mustTake();
  expect(laneOf(job).lane).toBe(lane);
  expect(job.json.opts).toEqual({ attempts: 10_000 });
});

it('holds the head of a closed line, and those behind it, until a wake-up lets it go', async () => {
  const { queue, counts, held, address, events, entry, ...lines } = await arrange();
  const [first, second, third, other] = events;
  await queue.addAll([entry(first), entry(second), entry(other)]);
  const jobs = [await lines.mustTake(), await lines.mustTake()];
  expect(await lines.heldOf()).toEqual([second]);
  for (const job of jobs) {
    await lines.close(job);
    await lines.delay(job);
  }
  await queue.addAll([entry(third)]);

  expect((await lines.heldOf()).toSorted()).toEqual([...events].toSorted());
  expect(await held.count(address.endpointId)).toBe(4);
  expect(await counts.read()).toEqual({ busy: 4 });
  expect(await lines.take()).toBeUndefined();

  expect(await lines.wakeUp()).toMatchObject({ released: 1, left: 1 });
  expect(await held.count(address.endpointId)).toBe(3);
  expect(await counts.read()).toEqual({ busy: 1, ordering: 2 });
  expect((await lines.mustTake()).eventId).toBe(first);
  expect(await lines.take()).toBeUndefined();
});

it('leaves a line alone that a worker has, and opens it when it is taken by itself', async () => {
  const { queue, held, address, counts, events, entry, ...lines } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(first), entry(second)]);
  const job = await lines.mustTake();
  await lines.close(job);
  expect(await lines.wakeUp()).toMatchObject({ released: 0, left: 1 });
  expect(await held.wakeUpDueAt(address)).toBeGreaterThan(NOW);
  await lines.delay(job);
  await queue.promote(address.endpointId, [first]);

  const again = await lines.mustTake();
  expect(again.holds).toBeDefined();
  expect(await lines.heldOf()).toEqual([second]);
  expect(await counts.read()).toEqual({ ordering: 1 });
  expect(await lines.wakeUp()).toMatchObject({ released: 0, left: 0, missing: [] });
});

it('holds all of a line behind a delivery that has a job, and lets no wake-up bring it back', async () => {
  const { queue, held, address, counts, events, entry, ...lines } = await arrange();
  const [first, second, third] = events;
  await queue.addAll([entry(first), entry(second)]);
  const job = await lines.mustTake();
  await lines.close(job, true);
  await lines.delay(job);
  await queue.addAll([entry(third)]);
  expect((await lines.heldOf()).toSorted()).toEqual([first, second, third].toSorted());
  expect(await counts.read()).toEqual({ busy: 3 });
  expect(await held.count(address.endpointId)).toBe(3);
  expect(await lines.wakeUp(9)).toMatchObject({ released: 0 });
  expect(await lines.take()).toBeUndefined();

  await lines.wakeAll();
  expect((await lines.mustTake()).eventId).toBe(first);
  expect(await counts.read()).toEqual({ ordering: 2 });
  expect(await held.count(address.endpointId)).toBe(2);
});

it('lets held lines go beside the deliveries that are named, as many as may go', async () => {
  const { queue, held, address, events, entry, ...lines } = await arrange();
  const [first, second, , other] = events;
  await queue.addAll([entry(first), entry(second), entry(other)]);
  for (const job of [await lines.mustTake(), await lines.mustTake()]) {
    await lines.close(job);
    await lines.delay(job);
  }
  const only = ['of-a-job' as EventId];
  const request = { only, linesToo: true, wakeUpWasDueAt: undefined, wakeUpAgainAt: NOW + 9, now: NOW };
  expect(await held.release(address, { ...request, most: 1 })).toMatchObject({ released: 1 });
  expect((await lines.mustTake()).eventId).toBe(first);
  expect(await held.release(address, { ...request, most: 9 })).toMatchObject({ released: 1 });
  expect((await lines.mustTake()).eventId).toBe(other);
});

it('opens lines that wake-ups leave alone for events of theirs that are asked for, and no line in a window', async () => {
  const { queue, lanes, held, holds, address, events, entry, ...lines } = await arrange();
  const [first, second, , other] = events;
  await queue.addAll([entry(first), entry(second), entry(other)]);
  for (const job of [await lines.mustTake(), await lines.mustTake()]) {
    if (job.eventId === first) await lines.close(job, true);
    else await lanes.waitInWindow(lines.laneOf(job));
    await lines.delay(job);
  }
  const only = await holds.findHeldAt(address, NOW + 9, 9);
  expect(only.toSorted()).toEqual([first, second].toSorted());
  const request = { wakeUpWasDueAt: undefined, wakeUpAgainAt: NOW + 9, now: NOW };
  const released = await held.release(address, { ...request, most: 3, only: [...only, other] });
  expect(released).toMatchObject({ released: 1, missing: [] });
  expect((await lines.mustTake()).eventId).toBe(first);
  expect(await lines.take()).toBeUndefined();
});

it('holds none of a line that waits for newer events', async () => {
  const { queue, lanes, held, counts, address, events, entry, ...lines } = await arrange();
  const [first, second, third] = events;
  await queue.addAll([entry(first), entry(second)]);
  const job = await lines.mustTake();
  await lanes.waitInWindow(lines.laneOf(job));
  await lines.delay(job);
  await queue.addAll([entry(third)]);
  expect(await lines.heldOf()).toEqual([]);
  expect(await counts.read()).toEqual({});
  expect(await held.count(address.endpointId)).toBe(0);

  await lines.wakeAll();
  expect((await lines.mustTake()).eventId).toBe(first);
  expect(await counts.read()).toEqual({ ordering: 2 });
  expect(await held.count(address.endpointId)).toBe(2);
});

it.each(['in a window', 'left alone'])(
  'counts as many as are held when entries leave lines %s',
  async (which) => {
    const { queue, lanes, held, address, events, entry, ...lines } = await arrange();
    const { endpointId } = address;
    const [first, second, third, other] = events;
    await queue.addAll([entry(first), entry(second), entry(third), entry(other)]);
    for (const job of [await lines.mustTake(), await lines.mustTake()]) {
      if (which === 'in a window') await lanes.waitInWindow(lines.laneOf(job));
      else await lines.close(job, true);
      await lines.delay(job);
    }
    for (const eventId of [undefined, second, other, first]) {
      if (eventId) await queue.removeIdle([{ endpointId, eventId }]);
      expect(await held.count(endpointId)).toBe((await lines.heldOf()).length);
    }
    await lines.wakeAll();
    const last = await lines.mustTake();
    expect(await held.count(endpointId)).toBe(0);
    await lines.end(last);
    expect(await lines.keysLeft()).toEqual([]);
  },
);

it('gives the newest its turn only while it is that, and knows what was sent as long as others wait', async () => {
  const { client, queue, lanes, events, entry, ...lines } = await arrange();
  const [first, second, third] = events;
  await queue.addAll([entry(first), entry(second)]);
  const job = await lines.mustTake();
  const lane = lines.laneOf(job);
  expect(await lanes.findNewest(lane.lane)).toMatchObject({ eventId: second });
  await queue.addAll([entry(third)]);
  expect(await lanes.begin(lane, second, 'newest')).toBe(false);
  expect(await lanes.begin(lane, third, 'newest')).toBe(true);
  await lanes.markSent(lane, { eventId: third, acceptedAt: NOW + 2 });
  await lines.end(job, third);

  const next = await lines.mustTake();
  expect(next.head).toMatchObject({ eventId: first, sent: { eventId: third, acceptedAt: NOW + 2 } });
  await lanes.drop(lane.lane, [first, second]);
  expect(await client.zrange(shardKeys.lane(lane.lane), '0', '-1')).toEqual([first]);
  await lines.end(next);
  await queue.addAll([entry(second)]);
  expect((await lines.mustTake()).head?.sent).toBeUndefined();
});

it('holds the next one in place of a held head that is dropped, and nothing when none is left', async () => {
  const { queue, counts, address, events, entry, ...lines } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(first), entry(second)]);
  const job = await lines.mustTake();
  await lines.close(job);
  await lines.delay(job);
  const { endpointId } = address;
  expect(await queue.removeIdle([{ endpointId, eventId: first }])).toEqual([]);
  expect(await counts.read()).toEqual({ busy: 1 });
  expect(await lines.heldOf()).toEqual([second]);
  expect(await queue.removeIdle([{ endpointId, eventId: second }])).toEqual([]);
  expect(await counts.read()).toEqual({});
  expect(await lines.keysLeft()).toEqual([]);
  expect(await lines.take()).toBeUndefined();
});

it('goes on as soon as as many are in a line as it waits for, also if they come while it is put off', async () => {
  const { queue, lanes, batches, counts, atomic, events, entry, ...lines } = await arrange();
  const [first, second, third] = events;
  await queue.addAll([entry(first)]);
  const job = await lines.mustTake();
  const lane = lines.laneOf(job);
  const hold = { reason: 'batching', since: NOW, previousStartedAt: undefined } as const;
  const place = { eventId: first, acceptedAt: NOW };
  expect(await lanes.hold(lane, { ...hold, fullAt: 1 }, place)).toBe(false);
  expect(await lanes.hold(lane, { ...hold, fullAt: 2 }, place)).toBe(true);
  expect(await counts.read()).toEqual({ batching: 1 });
  await queue.addAll([entry(second)]);
  await lines.delay(job);
  await atomic([batches.wakeIfFull(lane)]);
  const again = await lines.mustTake();
  expect(again.head).toMatchObject({ eventId: first });
  expect(await counts.read()).toEqual({ ordering: 1 });

  expect(await lanes.hold(lines.laneOf(again), { ...hold, fullAt: 3 }, place)).toBe(true);
  await lines.delay(again);
  expect((await lines.heldOf()).toSorted()).toEqual([first, second].toSorted());
  expect(await lines.wakeUp(9)).toMatchObject({ released: 0 });
  expect(await lines.take()).toBeUndefined();
  await queue.addAll([entry(third)]);
  expect((await lines.mustTake()).head?.eventId).toBe(first);
});

it('tells by jobs of their own that a line was held, and what waited behind its head', async () => {
  const { client, queue, lanes, events, entry, ...lines } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(first), entry(second)]);
  const job = await lines.mustTake();
  await lines.close(job);
  await lines.delay(job);
  await lines.wakeUp();
  const again = await lines.mustTake();
  const leaving = [first, second].map((eventId, i) => ({ eventId, acceptedAt: NOW + i }));
  await lanes.leave(lines.laneOf(again), leaving)(client);
  const told = [await lines.take(), await lines.take()].map((each) => decodeHolds(each?.holds ?? ''));
  expect(told).toEqual([[{ reason: 'busy', since: NOW }], [{ reason: 'ordering', since: NOW + 1 }]]);
  expect(await lines.keysLeft()).toEqual([]);
});

it('sends the first ones of a line together until they have ended, and those behind them after that', async () => {
  const { queue, batches, counts, atomic, events, entry, ...lines } = await arrange();
  const [first, second, third, other] = events;
  await queue.addAll([entry(first), entry(second), entry(other)]);
  const jobs = [await lines.mustTake(), await lines.mustTake()];
  const job = jobs.find(({ eventId }) => eventId === first);
  const beside = jobs.find(({ eventId }) => eventId === other);
  if (!job || !beside) throw new Error('One of the lines is missing.');
  const lane = lines.laneOf(job);
  const bounds = { most: 2, maxBytes: 1_000_000 };
  const begin = async (owned: OwnedLane) => {
    const [members] = await atomic([batches.beginHeads(owned, bounds)]);
    return members.map(({ eventId }) => eventId);
  };
  expect(await begin(lane)).toEqual([first, second]);
  await queue.addAll([entry(third)]);
  await atomic([
    batches.endHeads(lane, [first], { events: [second], delayMs: 60_000, failure: 'It was refused.' }),
  ]);
  expect(await lines.take()).toBeUndefined();
  await lines.end(beside);
  await queue.promote(lane.endpointId, [second]);

  const again = await lines.mustTake();
  expect(again.head).toMatchObject({ eventId: second, turn: 'first', hadBegun: true });
  expect(await begin(lines.laneOf(again))).toEqual([second]);
  await atomic([batches.endHeads(lines.laneOf(again), [second], { events: [], delayMs: 0 })]);
  const last = await lines.mustTake();
  expect(await begin(lines.laneOf(last))).toEqual([third]);
  await atomic([batches.endHeads(lines.laneOf(last), [third], { events: [], delayMs: 0 })]);
  expect([await lines.keysLeft(), await counts.read()]).toEqual([[], {}]);
});

it('adds no event to a line that waits in the lane of the whole endpoint, or the other way round', async () => {
  const { client, queue, address, events, entry } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(first), entry(second, { line: undefined })]);
  await queue.addAll([entry(first, { line: undefined }), entry(second)]);
  const { endpointId } = address;
  expect(await client.zrange(shardKeys.grouped(endpointId), '0', '-1')).toEqual([first]);
  expect(await client.zrange(shardKeys.lane(laneNameOf(endpointId)), '0', '-1')).toEqual([second]);
  expect(await queue.requestOf({ endpointId, eventId: first })).toBe('no_request');
  await queue.addAll([entry(first, { isInLane: false })]);
  expect(await queue.findRunning(endpointId, [first])).toEqual(new Set([]));
  expect(await client.exists(`bull:deliveries:${first}.${endpointId}`)).toBe(0);
});

it.each([
  ['held with its first one', false],
  ['left alone', true],
])(
  'counts right when some of a request have ended that was not sent, and its line is closed: %s',
  async (_how, isBehindJob) => {
    const { client, queue, batches, counts, held, address, atomic, events, entry, ...lines } =
      await arrange();
    const [first, second, third] = events;
    await queue.addAll([entry(first), entry(second), entry(third)]);
    const job = await lines.mustTake();
    const lane = lines.laneOf(job);
    await atomic([batches.beginHeads(lane, { most: 3, maxBytes: 1_000_000 })]);
    // For example since there is no access token.
    await lines.close(job, isBehindJob);
    await atomic([batches.endHeads(lane, [first], { events: [second, third], delayMs: 60_000 })]);
    expect(await counts.read()).toEqual({ busy: 2 });
    expect(await held.count(address.endpointId)).toBe(2);
    expect(await lines.heldOf()).toEqual([second, third]);

    await lines.wakeAll();
    if (!isBehindJob) await lines.wakeUp();
    const again = lines.laneOf(await lines.mustTake());
    expect(await counts.read()).toEqual({ ordering: 1 });
    await atomic([batches.beginHeads(again, { most: 3, maxBytes: 1_000_000 })]);
    await lines.close({ ...job, token: again.token, eventId: second }, isBehindJob);
    await atomic([batches.endHeads(again, [second, third], { events: [], delayMs: 0 })]);
    expect(await counts.read()).toEqual({});
    expect([await lines.keysLeft(), await client.exists(shardKeys.behindHeads)]).toEqual([[], 0]);
  },
);

describe.each(['held with its first one', 'left alone', 'in a window'])(
  'a closed line whose job somebody has removed: %s',
  (which) => {
    async function arrangeRemoved() {
      const arranged = await arrange();
      const { client, queue, lanes, events, entry, mustTake, laneOf, close, delay } = arranged;
      const [first, second] = events;
      await queue.addAll([entry(first), entry(second)]);
      const job = await mustTake();
      const lane = laneOf(job);
      if (which === 'in a window') await lanes.waitInWindow(lane);
      else await close(job, which === 'left alone');
      await delay(job);
      const bullmq = openQueue(DELIVERIES_QUEUE, { redis: client, prefix: QUEUE_PREFIX });
      expect(await bullmq.remove(laneJobIdOf(lane.lane))).toBe(1);
      return arranged;
    }

    it('goes on with the next event, and leaves no count behind', async () => {
      const { queue, held, address, counts, events, entry, ...lines } = await arrangeRemoved();
      const [first, second, third] = events;
      await queue.addAll([entry(third)]);
      for (const [eventId, behind] of [[first, 2] as const, [second, 1] as const, [third, 0] as const]) {
        const job = await lines.mustTake();
        expect(job.eventId).toBe(eventId);
        expect(await counts.read()).toEqual(behind === 0 ? {} : { ordering: behind });
        expect(await held.count(address.endpointId)).toBe(behind);
        await lines.end(job);
      }
      expect([await lines.keysLeft(), await counts.read()]).toEqual([[], {}]);
    });

    it('counts what is left when its entries are dropped, and then nothing', async () => {
      const { queue, held, address, counts, events, heldOf, keysLeft } = await arrangeRemoved();
      const { endpointId } = address;
      const [first, second] = events;
      for (const eventId of [first, second]) {
        expect(await queue.removeIdle([{ endpointId, eventId }])).toEqual([]);
        const left = eventId === second || which === 'in a window' ? 0 : 1;
        expect(await held.count(endpointId)).toBe(left);
        expect(await counts.read()).toEqual(left === 0 ? {} : { busy: 1 });
      }
      expect([await heldOf(), await keysLeft()]).toEqual([[], []]);
    });

    it('goes on with a wake-up of all lines', async () => {
      const { held, address, counts, events, ...lines } = await arrangeRemoved();
      await lines.wakeAll();
      if (which === 'held with its first one') await lines.wakeUp();
      expect((await lines.mustTake()).eventId).toBe(events[0]);
      expect(await counts.read()).toEqual({ ordering: 1 });
      expect(await held.count(address.endpointId)).toBe(1);
    });
  },
);
