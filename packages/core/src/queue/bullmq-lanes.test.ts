import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { encodeHold, type LanePlace, laneJobIdOf, type NewDelivery } from '../domain/delivery';
import { laneNameOf } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard, type QueueShard } from '../domain/queues';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { createAtomic } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeliveryHolds } from './bullmq-delivery-holds';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { EventQueue } from './bullmq-event-queue';
import { HeldDeliveries } from './bullmq-held-deliveries';
import { createJobKeys, jobFields } from './bullmq-layout';
import { QueueStandings } from './bullmq-queue-standings';
import { RunningJobs, type TakenJob } from './bullmq-running-jobs';
import { type OwnedLane, RunningLanes } from './bullmq-running-lanes';
import { HeldCounts } from './redis-held-counts';

const NOW = 1_700_000_000_000;
const LOCK_MS = 30_000;
const shards = oneShard(QUEUE_PREFIX);
const shard: QueueShard = { prefix: QUEUE_PREFIX };
const jobKeys = createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE);
const shardKeys = queueKeysOf(QUEUE_PREFIX);

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const accountId = uniqueAccountId();
  const endpointId = uniqueEndpointId();
  const lane = laneNameOf(endpointId);
  const queue = new DeliveryQueue(client, shards);
  const runningJobs = new RunningJobs(client, shard, LOCK_MS);
  const lanes = new RunningLanes(client, shard);
  const atomic = createAtomic(client);
  const events = [uniqueEventId(), uniqueEventId(), uniqueEventId()] as const;
  let tokens = 0;

  function entry(eventId: EventId, more: Partial<NewDelivery> = {}): NewDelivery {
    const acceptedAt = NOW + events.indexOf(eventId);
    return { accountId, endpointId, eventId, acceptedAt, isInLane: true, ...more };
  }

  function place(eventId: EventId): LanePlace {
    return { eventId, acceptedAt: NOW + events.indexOf(eventId) };
  }

  async function take(): Promise<TakenJob | undefined> {
    tokens += 1;
    const [{ job }] = await atomic([runningJobs.take(`token-${tokens}`)]);
    return job;
  }

  async function mustTake(): Promise<TakenJob> {
    const job = await take();
    if (!job) throw new Error('Nothing waits.');
    return job;
  }

  function laneOf({ token, holds }: TakenJob): OwnedLane {
    return { accountId, endpointId, lane, token, wasHeld: holds !== undefined };
  }

  async function end(job: TakenJob): Promise<void> {
    const { eventId = uniqueEventId(), request } = job.head ?? {};
    const head = { eventId, hasRequest: request !== undefined };
    await atomic([lanes.end(laneOf(job), head, 'nothing')]);
  }

  /** End it, and take the next job in the same script. */
  async function next(job: TakenJob): Promise<TakenJob | undefined> {
    tokens += 1;
    const { eventId = uniqueEventId() } = job.head ?? {};
    const [, taken] = await atomic([
      lanes.end(laneOf(job), { eventId, hasRequest: false }, 'a_job'),
      runningJobs.take(`token-${tokens}`),
    ]);
    return taken?.job;
  }

  async function delay(job: TakenJob, failure?: string): Promise<void> {
    const after = { kind: 'delayed', delayMs: 60_000, failure } as const;
    await atomic([runningJobs.end([job], after, failure === undefined ? job.head?.eventId : undefined)]);
  }

  async function entries(): Promise<readonly string[]> {
    return await client.zrange(shardKeys.lane(lane), '0', '-1');
  }

  return {
    client,
    accountId,
    endpointId,
    queue,
    lanes,
    atomic,
    events,
    held: new HeldDeliveries(client, shards),
    holds: new DeliveryHolds(client, shards),
    counts: new HeldCounts(client, shards),
    standings: new QueueStandings(client, shards),
    entry,
    place,
    take,
    mustTake,
    laneOf,
    end,
    next,
    delay,
    entries,
    /** As BullMQ's stalled check does after a crash. */
    async stall({ jobId }: TakenJob) {
      await client.del(jobKeys.lock(jobId));
      await client.lrem(jobKeys.active, 0, jobId);
      await client.rpush(jobKeys.wait, jobId);
    },
    wake: () => queue.promote(endpointId, [events[0]]),
  };
}

it('sends one after the other, in the order of acceptance, by one job, and leaves nothing behind', async () => {
  const { client, queue, events, entry, mustTake, take, end } = await arrange();
  const [first, second, third] = events;
  await queue.addAll([entry(second), entry(third)]);
  await queue.addAll([entry(first)]);

  const sent: (EventId | undefined)[] = [];
  for (let i = 0; i < events.length; i += 1) {
    const job = await mustTake();
    expect(await take()).toBeUndefined();
    sent.push(job.head?.eventId);
    await end(job);
  }
  expect(sent).toEqual(events);
  expect(await take()).toBeUndefined();
  const left = await client.keys('*');
  expect(left.filter((key) => /lane|carried|behind|held/.test(key))).toEqual([]);
});

it('goes on at once with the next one if no other job waits, for the worker that ends the first one', async () => {
  const { client, queue, lanes, atomic, accountId, events, entry, entries, take, mustTake, laneOf, next } =
    await arrange();
  await queue.addAll(events.map((each) => entry(each)));
  const first = await mustTake();
  const ofHead = [
    jobFields.attemptsMade,
    '4',
    jobFields.failedReason,
    'http_5xx',
    jobFields.stacktrace,
    '["Error"]',
  ];
  await client.hset(jobKeys.job(first.jobId), ...ofHead);
  const second = await next(first);
  expect(second?.head).toMatchObject({ eventId: events[1], hasWaited: true, hadBegun: false, turn: 'first' });
  expect(second?.json).toMatchObject({ attemptsStarted: 1, attemptsMade: 0, failedReason: '' });
  expect(second?.json).not.toHaveProperty('stacktrace');
  expect(await client.lrange(jobKeys.active, 0, -1)).toEqual([first.jobId]);
  expect(await take()).toBeUndefined();
  // The former token has no say any more.
  await atomic([lanes.end(laneOf(first), { eventId: events[1], hasRequest: false }, 'nothing')]);
  expect(await entries()).toEqual([events[1], events[2]]);

  const other = { accountId, endpointId: uniqueEndpointId(), eventId: uniqueEventId(), acceptedAt: NOW };
  await queue.addAll([other]);
  if (!second) throw new Error('Nothing was taken.');
  expect((await next(second))?.jobId).toBe(`${other.eventId}.${other.endpointId}`);
  const third = await mustTake();
  expect(third.head?.eventId).toBe(events[2]);
  expect(await next(third)).toBeUndefined();
  expect(await client.exists(jobKeys.job(third.jobId), shardKeys.behindHeads)).toBe(0);
});

it('says of a delivery whether it has waited behind another one', async () => {
  const { queue, events, entry, mustTake, end } = await arrange();
  await queue.addAll([entry(events[0]), entry(events[1])]);
  const first = await mustTake();
  expect(first.head?.hasWaited).toBe(false);
  await end(first);
  expect((await mustTake()).head?.hasWaited).toBe(true);
});

it('says of a delivery that was alone, and was held, that it has waited behind none', async () => {
  const { queue, lanes, events, entry, mustTake, laneOf, delay, wake } = await arrange();
  await queue.addAll([entry(events[0])]);
  const job = await mustTake();
  await lanes.hold(laneOf(job), { reason: 'breaker_open', since: NOW });
  await delay(job);
  await wake();
  const again = await mustTake();
  expect(again.head).toMatchObject({ eventId: events[0], hasWaited: false });
});

it('makes no entry for what has a job, and no job for what has an entry', async () => {
  const { client, queue, events, entry, entries } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(first, { isInLane: false }), entry(second)]);
  await queue.addAll([entry(first), entry(second, { isInLane: false })]);
  expect(await entries()).toEqual([second]);
  expect(await client.exists(jobKeys.job(`${second}.${entry(second).endpointId}`))).toBe(0);
});

it('puts an event behind those that are there, though the clock was set back', async () => {
  const { queue, events, entry, entries } = await arrange();
  const [first, second, third] = events;
  await queue.addAll([entry(first), entry(second)]);
  await queue.addAll([entry(third, { acceptedAt: NOW - 1_000, isNew: true })]);
  expect(await entries()).toEqual([first, second, third]);
});

it('puts an event behind the one that was sent in place of older ones, though the clock was set back', async () => {
  const { client, queue, events, entry, entries, mustTake, laneOf, lanes } = await arrange();
  const [first, second, third] = events;
  await queue.addAll([entry(first), entry(second)]);
  const job = await mustTake();
  const owned = laneOf(job);
  await lanes.begin(owned, second, 'newest');
  await lanes.markSent(owned, { eventId: second, acceptedAt: NOW + 9 });
  await createAtomic(client)([lanes.end(owned, { eventId: second, hasRequest: false }, 'nothing')]);
  await queue.addAll([entry(third, { acceptedAt: NOW - 1_000, isNew: true })]);
  expect(await entries()).toEqual([first, third]);
  expect(await client.zscore(shardKeys.lane(owned.lane), third)).toBe(String(NOW + 10));
});

it('does nothing for a worker that has lost the lane, also if the same worker has it again', async () => {
  const { queue, events, entry, entries, mustTake, end, stall, delay } = await arrange();
  await queue.addAll([entry(events[0]), entry(events[1])]);
  const lost = await mustTake();
  await stall(lost);
  const again = await mustTake();
  expect(again.head).toMatchObject({ eventId: events[0], hadBegun: true, turn: 'first' });

  await end(lost);
  await delay(lost, 'http_5xx');
  expect(await entries()).toEqual([events[0], events[1]]);
  await end(again);
  await end(again);
  expect(await entries()).toEqual([events[1]]);
});

it('keeps the turn of one that was tried, and of no other', async () => {
  const { queue, events, entry, mustTake, delay, wake } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(second)]);
  await delay(await mustTake());
  await queue.addAll([entry(first)]);
  await wake();
  const job = await mustTake();
  expect(job).toMatchObject({ json: { attemptsStarted: 2 }, head: { eventId: first } });
  await delay(job, 'http_5xx');
  await queue.addAll([entry(events[2], { acceptedAt: NOW - 1 })]);
  await wake();
  expect((await mustTake()).head).toMatchObject({ eventId: first, turn: 'first', hadBegun: true });
});

it('waits for an older event that is still on the queue of events', async () => {
  const { client, queue, accountId, events, entry, mustTake, delay } = await arrange();
  const [first, second] = events;
  const eventQueue = new EventQueue(client, shards);
  await eventQueue.addAll([
    { id: first, accountId, type: 'a.b', body: '{"type":"a.b","data":{}}', acceptedAt: NOW },
  ]);
  await queue.addAll([entry(second)]);
  const job = await mustTake();
  expect(job.head?.turn).toBe('behind_event');
  await delay(job);
  await queue.addAll([entry(first)]);
  await queue.promote(entry(first).endpointId, [first]);
  expect((await mustTake()).head).toMatchObject({ eventId: first, turn: 'first' });
});

it('waits for an older delivery that has a job of its own, of a version before', async () => {
  const { client, queue, endpointId, events, entry, mustTake } = await arrange();
  const [first, second] = events;
  await client.zadd(keys.order(endpointId), NOW, first);
  await queue.addAll([entry(second)]);
  expect((await mustTake()).head).toMatchObject({ turn: 'behind_job', isBesideJobs: true });
});

it('is not put off behind another delivery if an older one has come meanwhile', async () => {
  const { queue, lanes, client, events, entry, accountId, endpointId, mustTake, delay } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(first, { isInLane: false })]);
  const { jobId, token } = await mustTake();
  await queue.addAll([entry(second)]);
  const lane = await mustTake();
  const address = { accountId, endpointId, lane: laneNameOf(endpointId) };
  const joining = { ...address, eventId: first, acceptedAt: NOW, request: undefined };
  await lanes.join({ ...joining, hasBegun: false, jobId, token }, false)(client);
  await delay(lane);
  expect((await mustTake()).head).toMatchObject({ eventId: first, turn: 'first' });
});

it('lets a delivery begin where the events are elsewhere, unless another one has become the first', async () => {
  const { client, queue, lanes, events, entry, laneOf } = await arrange();
  const [first, second] = events;
  const elsewhere = new RunningJobs(client, shard, LOCK_MS, undefined, () => false);
  await queue.addAll([entry(second)]);
  const { job } = await elsewhere.take('token')(client);
  if (!job) throw new Error('Nothing waits.');
  expect(job.head?.turn).toBe('unknown');
  await queue.addAll([entry(first)]);
  expect(await lanes.begin(laneOf(job), second, 'first')).toBe(false);
  expect(await lanes.begin(laneOf(job), first, 'first')).toBe(true);
  expect(await lanes.begin({ ...laneOf(job), token: 'another' }, first, 'first')).toBe(false);
});

it('takes a job of its own into the lane, with its request and its turn', async () => {
  const { client, queue, lanes, accountId, endpointId, events, entry, entries, mustTake } = await arrange();
  const [first, second] = events;
  const request = { requestId: 'req', trigger: 'manual', requestedAt: NOW } as const;
  const delivery = { accountId, endpointId, eventId: second };
  await queue.addRequested([{ ...delivery, request }]);
  const own = await mustTake();
  const { request: stored } = JSON.parse(own.json.data) as { request: object };
  const joining = {
    ...delivery,
    lane: laneNameOf(endpointId),
    acceptedAt: NOW + 1,
    request: JSON.stringify(stored),
    hasBegun: true,
    jobId: own.jobId,
    token: own.token,
  };
  expect(await lanes.join(joining, true)(client)).toBe(false);
  expect(await lanes.join(joining, false)(client)).toBe(true);
  await queue.addAll([entry(first)]);

  expect(await entries()).toEqual([first, second]);
  expect(await client.exists(jobKeys.job(own.jobId), jobKeys.lock(own.jobId))).toBe(0);
  expect(await queue.requestOf(delivery)).toEqual({ requestId: 'req' });
  expect((await mustTake()).head).toMatchObject({ eventId: second, request: JSON.stringify(stored) });
});

it('gives the deliveries jobs of their own when the endpoint has no lane any more', async () => {
  const { client, queue, lanes, endpointId, events, entry, place, mustTake, take, laneOf } = await arrange();
  const request = { requestId: 'req', trigger: 'manual', requestedAt: NOW } as const;
  await queue.addRequested([{ ...entry(events[0]), request }]);
  await queue.addAll(events.map((each) => entry(each)));
  await lanes.leave(laneOf(await mustTake()), [place(events[0]), place(events[1])])(client);

  const jobs = [await mustTake(), await mustTake()];
  expect(jobs.map(({ jobId }) => jobId)).toEqual([
    `${events[0]}.${endpointId}`,
    `${events[1]}.${endpointId}`,
  ]);
  expect(jobs[0]?.json.data).toContain('"id":"req"');
  const lane = await mustTake();
  expect(lane.head?.eventId).toBe(events[2]);
  await lanes.leave(laneOf(lane), [place(events[2])])(client);
  expect((await mustTake()).jobId).toBe(`${events[2]}.${endpointId}`);
  expect(await take()).toBeUndefined();
  expect(await client.exists(jobKeys.job(laneJobIdOf(laneNameOf(endpointId))), shardKeys.behindHeads)).toBe(
    0,
  );
});

it('tells of those that leave it that they have waited for the ones before', async () => {
  const { client, queue, lanes, events, entry, place, mustTake, laneOf, end } = await arrange();
  const [first, second, third] = events;
  const behind = (eventId: EventId) => encodeHold({ reason: 'ordering', since: place(eventId).acceptedAt });
  await queue.addAll([entry(first), entry(second)]);
  await lanes.leave(laneOf(await mustTake()), [place(first), place(second)])(client);
  expect([await mustTake(), await mustTake()].map(({ holds }) => holds)).toEqual([undefined, behind(second)]);
  for (const eventId of [first, second])
    await client.del(jobKeys.job(`${eventId}.${entry(eventId).endpointId}`));

  await queue.addAll([entry(second), entry(third)]);
  await end(await mustTake());
  await lanes.leave(laneOf(await mustTake()), [place(third)])(client);
  expect((await mustTake()).holds).toBe(behind(third));
});

it('tells nothing of the kind where they need not wait for each other', async () => {
  const { client, queue, lanes, events, entry, place, mustTake, laneOf } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(first, { isInBatches: true }), entry(second, { isInBatches: true })]);
  await lanes.leave(laneOf(await mustTake()), [place(first), place(second)])(client);
  expect([await mustTake(), await mustTake()].map(({ holds }) => holds)).toEqual([undefined, undefined]);
});

it('keeps what stays held when a part of it moves to another shard', async () => {
  const { client, queue, lanes, events, entry, counts, mustTake, laneOf, delay, wake } = await arrange();
  await queue.addAll(events.map((each) => entry(each)));
  const job = await mustTake();
  const hold = { reason: 'disabled', since: NOW + 5 } as const;
  await lanes.hold(laneOf(job), hold);
  await delay(job);
  await wake();
  await lanes.forget(laneOf(await mustTake()), [events[0]])(client);
  expect(await counts.read()).toMatchObject({ ordering: 0, disabled: 2 });
  expect(await mustTake()).toMatchObject({ holds: encodeHold(hold), head: { eventId: events[1] } });
});

it('counts all behind the head as held and delayed, whatever the head does: more workers would not help', async () => {
  const { queue, lanes, events, entry, counts, standings, mustTake, laneOf, delay, wake, end } =
    await arrange();
  const [first, second, third] = events;
  const depths = async () => {
    const { queues } = await standings.read(NOW);
    const found = queues.find(({ name }) => name === DELIVERIES_QUEUE);
    return [found?.waiting, found?.active, found?.delayed];
  };
  await queue.addAll([entry(first), entry(second)]);
  expect(await depths()).toEqual([1, 0, 1]);
  expect(await counts.read()).toMatchObject({ ordering: 1, disabled: 0 });

  const refused = await mustTake();
  expect(await depths()).toEqual([0, 1, 1]);
  await delay(refused, 'http_5xx');
  expect(await depths()).toEqual([0, 0, 2]);
  expect(await counts.read()).toMatchObject({ ordering: 1, disabled: 0 });

  await wake();
  const job = await mustTake();
  await lanes.hold(laneOf(job), { reason: 'disabled', since: NOW }, undefined);
  await delay(job);
  await queue.addAll([entry(third)]);
  expect(await depths()).toEqual([0, 0, 1]);
  expect(await counts.read()).toMatchObject({ ordering: 0, disabled: 3 });

  await wake();
  await end(await mustTake());
  expect(await depths()).toEqual([1, 0, 1]);
  expect(await counts.read()).toMatchObject({ ordering: 1, disabled: 0 });
});

it('counts those behind one that is tried again after it was held as waiting', async () => {
  const { queue, lanes, atomic, events, entry, counts, mustTake, laneOf, delay, wake } = await arrange();
  await queue.addAll(events.map((each) => entry(each)));
  const job = await mustTake();
  await lanes.hold(laneOf(job), { reason: 'breaker_open', since: NOW }, undefined);
  await delay(job);
  await wake();
  const again = await mustTake();
  await delay(again, 'http_5xx');
  await atomic([lanes.reopen(laneOf(again))]);
  expect(await counts.read()).toMatchObject({ ordering: 2, breaker_open: 0 });
});

it('shows those behind the head as held, and the head too if the lane does not go on', async () => {
  const { queue, lanes, held, holds, endpointId, events, entry, mustTake, laneOf, delay } = await arrange();
  await queue.addAll(events.map((each) => entry(each)));
  const heldNow = async () => [...(await held.findHeld(endpointId, events))];
  expect(await heldNow()).toEqual([events[1], events[2]]);
  expect(await held.count(endpointId)).toBe(2);
  const job = await mustTake();
  expect(await heldNow()).toEqual([events[1], events[2]]);
  await lanes.hold(laneOf(job), { reason: 'disabled', since: NOW + 9 }, undefined);
  await delay(job);
  expect(await heldNow()).toEqual(events);
  expect(await holds.holdsOf(endpointId, events[0])).toEqual([{ reason: 'disabled', since: NOW + 9 }]);
  expect(await holds.holdsOf(endpointId, events[1])).toEqual([{ reason: 'ordering', since: NOW + 1 }]);
  expect(await held.count(endpointId)).toBe(3);
});

it('finds those behind the head that were held at a time, however few are asked for', async () => {
  const { queue, holds, accountId, endpointId, events, entry, mustTake } = await arrange();
  await queue.addAll(events.map((each) => entry(each)));
  await mustTake();
  const address = { accountId, endpointId };
  expect(await holds.findHeldAt(address, NOW + 1, 1)).toEqual([events[1]]);
  expect(await holds.findHeldAt(address, NOW + 1, 9)).toEqual([events[1]]);
  expect(await holds.findHeldAt(address, NOW + 2, 9)).toEqual([events[1], events[2]]);
});

it('tells a delivery with a job of its own nothing of the lane beside it', async () => {
  const { queue, holds, endpointId, events, entry } = await arrange();
  const [own, first, second] = events;
  await queue.addAll([entry(own, { isInLane: false }), entry(first), entry(second)]);
  expect(await holds.findLane(endpointId, own)).toBeUndefined();
  expect(await holds.findLane(endpointId, second)).toMatchObject({ first });
});

it('goes on at a wake-up that may release something', async () => {
  const { queue, lanes, held, accountId, endpointId, events, entry, mustTake, take, laneOf, delay } =
    await arrange();
  await queue.addAll([entry(events[0]), entry(events[1])]);
  const job = await mustTake();
  await lanes.hold(laneOf(job), { reason: 'disabled', since: NOW }, undefined);
  await delay(job);
  const wakeUp = async (most: number) => {
    const request = { most, wakeUpWasDueAt: undefined, wakeUpAgainAt: NOW, now: NOW };
    return await held.release({ accountId, endpointId }, request);
  };
  expect(await wakeUp(0)).toMatchObject({ released: 0, left: 1 });
  expect(await take()).toBeUndefined();
  expect(await wakeUp(2)).toMatchObject({ released: 1, left: 0 });
  const again = await mustTake();
  expect(again.head?.eventId).toBe(events[0]);
  // It may be about to be put off.
  expect(await wakeUp(2)).toMatchObject({ released: 0, left: 1 });
});

it('drops a delivery that nobody runs, and the lane with its last one', async () => {
  const { client, queue, endpointId, events, entry, entries, mustTake, end } = await arrange();
  const [first, second] = events;
  await queue.addAll([entry(first), entry(second)]);
  const job = await mustTake();
  const parts = [first, second].map((eventId) => ({ endpointId, eventId }));
  expect(await queue.findRunning(endpointId, [first])).toEqual(new Set([first]));
  expect(await queue.findRunning(endpointId, [second])).toEqual(new Set([]));
  expect(await queue.removeIdle(parts)).toEqual([{ endpointId, eventId: first }]);
  expect(await entries()).toEqual([first]);
  await end(job);

  await queue.addAll([entry(second)]);
  expect(await queue.removeIdle([{ endpointId, eventId: second }])).toEqual([]);
  expect(await queue.requestOf({ endpointId, eventId: second })).toBe('no_job');
  expect(await client.exists(jobKeys.job(laneJobIdOf(laneNameOf(endpointId))), shardKeys.behindHeads)).toBe(
    0,
  );
  expect(await client.zcard(jobKeys.prioritized)).toBe(0);
});

describe('when the head fails for good', () => {
  async function arrangeFailed() {
    const scene = await arrange();
    const { client, queue, lanes, atomic, endpointId, events, entry, mustTake, laneOf } = scene;
    const [first, second] = events;
    const request = { requestId: 'req', trigger: 'manual', requestedAt: NOW } as const;
    await queue.addRequested([{ ...entry(first), request }]);
    await queue.addAll([entry(second)]);
    const lost = await mustTake();
    await client.hset(jobKeys.job(lost.jobId), jobFields.attemptsMade, 4, jobFields.attemptsStarted, 9);
    const besideLanes = new BesideLanes(client);
    const fail = async (job: TakenJob) => {
      const place = { eventId: first, acceptedAt: job.head?.place ?? 0 };
      const steps = [
        besideLanes.join(endpointId, [place]),
        lanes.failHead(laneOf(job), first, 'too often'),
      ] as const;
      return (await atomic(steps))[1];
    };
    return { ...scene, first, second, jobId: `${first}.${endpointId}`, lost, fail, besideLanes };
  }

  it('has a job of its own that fails when it is taken, and nothing else goes on meanwhile', async () => {
    const { client, jobId, endpointId, second, lost, fail, entries, mustTake, take, delay } =
      await arrangeFailed();
    expect(await fail(lost)).toBe(true);
    expect(await entries()).toEqual([second]);
    expect(await client.exists(shardKeys.carried(laneNameOf(endpointId)), shardKeys.behindHeads)).toBe(0);

    const jobs = [await mustTake(), await mustTake()];
    const own = jobs.find((job) => job.jobId === jobId);
    expect(own?.json).toMatchObject({ deferredFailure: 'too often', attemptsMade: 4, attemptsStarted: 10 });
    expect(own?.json.data).toContain('"id":"req"');
    expect(await client.hget(jobKeys.job(jobId), jobFields.acceptedAt)).toBe(String(NOW));
    const lane = jobs.find(({ head }) => head);
    expect(lane?.head).toMatchObject({ eventId: second, turn: 'behind_job', isBesideJobs: true });
    expect(lane?.json).toMatchObject({ attemptsStarted: 1, attemptsMade: 0 });
    if (lane) await delay(lane);
    expect(await take()).toBeUndefined();
  });

  it('is still in its lane if the worker has lost that meanwhile, or has done so before', async () => {
    const { client, jobId, first, second, lost, fail, entries, mustTake, stall } = await arrangeFailed();
    await stall(lost);
    const again = await mustTake();
    expect(await fail(lost)).toBe(false);
    expect(await entries()).toEqual([first, second]);
    expect(again.head).toMatchObject({ eventId: first, turn: 'first' });
    expect(await fail(again)).toBe(true);
    expect(await fail(again)).toBe(false);
    expect(await entries()).toEqual([second]);
    expect(await client.zcard(jobKeys.prioritized)).toBe(2);
    expect(await client.exists(jobKeys.job(jobId))).toBe(1);
  });

  it('goes before all others again once its job is retried', async () => {
    const { client, lanes, accountId, endpointId, first, second, lost, fail, entries, mustTake, delay } =
      await arrangeFailed();
    await fail(lost);
    const jobs = [await mustTake(), await mustTake()];
    const [own, lane] = [jobs.find(({ head }) => !head), jobs.find(({ head }) => head)];
    if (!own || !lane) throw new Error('One of them is missing.');
    await delay(lane);
    const { jobId, token } = own;
    const address = { accountId, endpointId, lane: laneNameOf(endpointId) };
    const delivery = { ...address, eventId: first, acceptedAt: NOW, request: undefined };
    await lanes.join({ ...delivery, hasBegun: true, jobId, token }, false)(client);
    expect(await entries()).toEqual([first, second]);
    expect((await mustTake()).head).toMatchObject({ eventId: first, turn: 'first', isBesideJobs: true });
  });

  it('lets an older one go that is requested meanwhile', async () => {
    const { queue, lost, fail, entry, second, mustTake, delay, end, events, endpointId } =
      await arrangeFailed();
    await fail(lost);
    for (const job of [await mustTake(), await mustTake()]) if (job.head) await delay(job);
    const older = events[2];
    await queue.addAll([entry(older, { acceptedAt: NOW - 1 })]);
    await queue.promote(endpointId, [older]);
    const job = await mustTake();
    expect(job.head).toMatchObject({ eventId: older, turn: 'first' });
    await end(job);
    expect((await mustTake()).head).toMatchObject({ eventId: second, turn: 'behind_job' });
  });
});

it("makes a lane's job anew that has failed by itself, since nobody can read it", async () => {
  const { client, queue, held, accountId, endpointId, events, entry, mustTake } = await arrange();
  await queue.addAll([entry(events[0]), entry(events[1])]);
  const { jobId } = await mustTake();
  await client.lrem(jobKeys.active, 0, jobId);
  await client.del(jobKeys.lock(jobId));
  await client.zadd(jobKeys.failed, NOW, jobId);
  await client.hset(jobKeys.job(jobId), 'data', '{"broken', 'finishedOn', NOW);

  const wakeUp = { most: 1, wakeUpWasDueAt: undefined, wakeUpAgainAt: NOW, now: NOW };
  await held.release({ accountId, endpointId }, wakeUp);
  const job = await mustTake();
  expect(JSON.parse(job.json.data)).toMatchObject({ account_id: accountId });
  expect(job.head?.eventId).toBe(events[0]);
  expect(await client.zcard(jobKeys.failed)).toBe(0);
});

describe("a lane's job that an operator has removed", () => {
  async function arrangeRemoved() {
    const arranged = await arrange();
    const { client, queue, endpointId, events, entry } = arranged;
    const request = { requestId: 'req', trigger: 'manual', requestedAt: NOW } as const;
    await queue.addRequested([{ ...entry(events[0]), request }]);
    await queue.addAll([entry(events[1])]);
    return {
      ...arranged,
      async remove() {
        const id = laneJobIdOf(laneNameOf(endpointId));
        await client.del(jobKeys.job(id));
        for (const list of [jobKeys.prioritized, jobKeys.delayed]) await client.zrem(list, id);
      },
    };
  }

  it.each(['one of its deliveries is added again', 'its endpoint is woken up'])(
    'is made anew as soon as %s',
    async (when) => {
      const { client, queue, held, events, entry, entries, mustTake, remove, ...of } = await arrangeRemoved();
      const { accountId, endpointId } = of;
      const [first, second] = events;
      await remove();
      const request = { most: 1, wakeUpWasDueAt: undefined, wakeUpAgainAt: NOW, now: NOW };
      if (when === 'its endpoint is woken up') await held.release({ accountId, endpointId }, request);
      else await queue.addAll([entry(second)]);
      expect(await entries()).toEqual([first, second]);
      const job = await mustTake();
      expect(job.head).toMatchObject({ eventId: first });
      expect(job.head?.request).toContain('req');
      expect(JSON.parse(job.json.data)).toMatchObject({ account_id: accountId });
      expect(await client.get(shardKeys.behindHeads)).toBe('1');
    },
  );

  it('leaves no count behind of what was held', async () => {
    const { client, queue, lanes, counts, held, endpointId, events, entry, mustTake, ...of } =
      await arrangeRemoved();
    const job = await mustTake();
    await lanes.hold(of.laneOf(job), { reason: 'disabled', since: NOW });
    await of.delay(job);
    expect(await counts.read()).toMatchObject({ disabled: 2 });
    await of.remove();
    await queue.addAll([entry(events[2])]);
    expect(await held.count(endpointId)).toBe(2);
    for (const behind of [2, 1, 0]) {
      expect(await counts.read()).toMatchObject({ ordering: behind, disabled: 0 });
      await of.end(await mustTake());
    }
    expect(await client.exists(shardKeys.behindHeads)).toBe(0);
  });
});

it('puts what is new behind what is beside the lane, also when the clock was set back', async () => {
  const { client, queue, endpointId, events, entry, mustTake } = await arrange();
  const [first, second] = events;
  const besideLanes = new BesideLanes(client);
  await besideLanes.join(endpointId, [{ eventId: first, acceptedAt: NOW }])(client);
  await queue.addAll([entry(second, { acceptedAt: NOW - 60_000, isNew: true })]);
  expect((await mustTake()).head).toMatchObject({ eventId: second, turn: 'behind_job', place: NOW + 1 });
});

it('gives what may be open no longer once in an hour, however many that carry a request are before it', async () => {
  const { client, queue, endpointId, events, entry, place } = await arrange();
  const [first, second] = events;
  const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW + 1 } as const;
  const requested = Array.from({ length: 1_200 }, () => ({ ...entry(uniqueEventId()), request }));
  await queue.addRequested(requested);
  await queue.addAll([entry(first), entry(second)]);
  const lane = laneNameOf(endpointId);
  const find = async (until = NOW) => await queue.findOver(endpointId, lane, until);
  expect(await find()).toEqual({ entries: [], areMore: true });
  expect(await find()).toEqual({ entries: [place(first)], areMore: false });
  const late = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
  await queue.addAll([entry(late.eventId, late)]);
  expect(await find()).toEqual({ entries: [], areMore: false });
  expect(await find(NOW + 1)).toEqual({ entries: [place(second)], areMore: false });

  const [job, field] = [jobKeys.job(laneJobIdOf(lane)), 'looked'];
  const [began = '', ...last] = (await client.hget(job, field))?.split(' ') ?? [];
  await client.hset(job, field, [Number(began) - 3_600, ...last].join(' '));
  expect(await find()).toEqual({ entries: [], areMore: true });
  expect(await find()).toEqual({ entries: [late, place(first)], areMore: false });

  // Their requests are over as well.
  await client.hdel(job, field);
  const { entries, areMore } = await find(NOW + 1);
  expect(entries.map(({ eventId }) => eventId)).toEqual(
    requested.slice(0, 100).map(({ eventId }) => eventId),
  );
  expect(areMore).toBe(true);
  await client.del(job);
  expect(await find()).toEqual({ entries: [], areMore: false });
});
