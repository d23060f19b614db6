import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { batchJobIdOf, laneJobIdOf, type MemberEnd, type NewDelivery } from '../domain/delivery';
import { encodeAddress, laneNameOf } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard, type QueueShard } from '../domain/queues';
import { createAtomic } from '../platform/redis-atomic';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeliveryHolds } from './bullmq-delivery-holds';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { HeldDeliveries } from './bullmq-held-deliveries';
import { createJobKeys } from './bullmq-layout';
import { QueueStandings } from './bullmq-queue-standings';
import { type OwnedBatch, RunningBatches } from './bullmq-running-batches';
import { RunningJobs, type TakenJob } from './bullmq-running-jobs';
import { type OwnedLane, RunningLanes } from './bullmq-running-lanes';
import { HeldCounts } from './redis-held-counts';

const NOW = 1_700_000_000_000;
const LOCK_MS = 30_000;
const LATER: MemberEnd['end'] = { kind: 'delayed', delayMs: 60_000, failure: 'http_5xx' };
const DONE: MemberEnd['end'] = { kind: 'done' };
const ALONE: MemberEnd['end'] = { kind: 'alone' };
const shards = oneShard(QUEUE_PREFIX);
const shard: QueueShard = { prefix: QUEUE_PREFIX };
const jobKeys = createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE);
const shardKeys = queueKeysOf(QUEUE_PREFIX);

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange(count: number) {
  const { client } = willClose(await openTestRedis());
  const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
  const lane = laneNameOf(address.endpointId);
  const queue = new DeliveryQueue(client, shards);
  const runningJobs = new RunningJobs(client, shard, LOCK_MS);
  const batches = new RunningBatches(client, shard, LOCK_MS);
  const lanes = new RunningLanes(client, shard);
  const atomic = createAtomic(client);
  const events = Array.from({ length: count }, uniqueEventId);
  let tokens = 0;

  function entry(eventId: EventId, more: Partial<NewDelivery> = {}): NewDelivery {
    const acceptedAt = NOW + events.indexOf(eventId);
    return { ...address, eventId, acceptedAt, isInLane: true, isInBatches: true, ...more };
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

  const laneOf = ({ token, holds }: TakenJob): OwnedLane => ({
    ...address,
    lane,
    token,
    wasHeld: holds !== undefined,
  });

  async function form(job: TakenJob, most = 100, maxBytes = 1_000_000) {
    const formed = await batches.form(laneOf(job), { most, maxBytes })(client);
    if (!formed) throw new Error('No batch was formed.');
    const { jobId, members } = formed;
    const owned: OwnedBatch = { ...address, jobId, token: job.token };
    return { owned, members, events: members.map(({ eventId }) => eventId) };
  }

  async function end(owned: OwnedBatch, ends: readonly [EventId, MemberEnd['end'], boolean?][]) {
    const all = ends.map(([eventId, each, isInSecond = false]) => ({ eventId, end: each, isInSecond }));
    await atomic([batches.end(owned, all)]);
  }

  await queue.addAll(events.map((eventId) => entry(eventId)));
  return {
    client,
    ...address,
    address,
    queue,
    lanes,
    batches,
    events,
    held: new HeldDeliveries(client, shards),
    holds: new DeliveryHolds(client, shards),
    counts: new HeldCounts(client, shards),
    standings: new QueueStandings(client, shards),
    entry,
    take,
    mustTake,
    laneOf,
    form,
    end,
    entries: () => client.zrange(shardKeys.lane(lane), '0', '-1'),
    /** Delayed jobs are due. */
    async comeDue(jobId: string) {
      await client.zadd(jobKeys.delayed, 0, jobId);
    },
    /** As the check for stalled jobs does once its worker has died. */
    async putBack({ jobId }: TakenJob) {
      const { lock, active, wait } = jobKeys;
      await client.multi().del(lock(jobId)).lrem(active, 0, jobId).lpush(wait, jobId).exec();
    },
    async waiting() {
      const depths = await new QueueStandings(client, shards).readDepths();
      return depths.find(({ queue: name, state }) => name === DELIVERIES_QUEUE && state === 'wait')?.jobs;
    },
    async left() {
      const { batches: index, lane: laneKey, carried, behindInBatches } = shardKeys;
      return await client.exists(
        index(address.endpointId),
        laneKey(lane),
        carried(lane),
        behindInBatches,
        jobKeys.job(laneJobIdOf(lane)),
      );
    },
  };
}

it('makes the first deliveries of a lane one job, and the lane goes on with the others', async () => {
  const { mustTake, form, end, entries, events, take, waiting, left } = await arrange(5);
  expect(await waiting()).toBe(5);
  const { owned, events: first, members } = await form(await mustTake(), 3);
  expect(first).toEqual(events.slice(0, 3));
  expect(members.map(({ place }) => place - NOW)).toEqual([0, 1, 2]);
  expect(await entries()).toEqual(events.slice(3));
  expect(await waiting()).toBe(2);

  const second = await form(await mustTake(), 3);
  expect(second.events).toEqual(events.slice(3));
  await end(
    owned,
    first.map((event) => [event, DONE]),
  );
  await end(
    second.owned,
    second.events.map((event) => [event, DONE]),
  );
  expect(await take()).toBeUndefined();
  expect([await left(), await waiting()]).toEqual([0, 0]);
});

it('counts what waits in a lane as its webhook has it now: in order, or in batches', async () => {
  const { queue, entry, mustTake, take, form, laneOf, lanes, batches, counts, waiting, left, end, client } =
    await arrange(0);
  const events = Array.from({ length: 5 }, uniqueEventId) as [EventId, ...EventId[]];
  const added = events.map((eventId, i) => entry(eventId, { acceptedAt: NOW + i, isInBatches: false }));
  await queue.addAll(added);
  const ordering = async () => (await counts.read()).ordering ?? 0;
  expect([await ordering(), await waiting()]).toEqual([4, 1]);
  const { owned } = await form(await mustTake(), 1);
  expect([await ordering(), await waiting()]).toEqual([0, 4]);
  await end(owned, [[events[0], DONE]]);

  const head = await mustTake();
  const second = head.head?.eventId as EventId;
  expect(await lanes.begin(laneOf(head), second, 'first')).toBe(true);
  expect([await ordering(), await waiting()]).toEqual([3, 0]);
  await createAtomic(client)([lanes.end(laneOf(head), { eventId: second, hasRequest: false }, 'nothing')]);
  expect([await ordering(), await waiting()]).toEqual([2, 1]);

  const again = await form(await mustTake(), 1);
  await end(again.owned, [[again.events[0] as EventId, DONE]]);
  expect([await ordering(), await waiting()]).toEqual([0, 2]);
  const last = await mustTake();
  const heads = await batches.beginHeads(laneOf(last), { most: 2, maxBytes: 1_000 })(client);
  expect([await ordering(), await waiting()]).toEqual([1, 0]);
  await batches.endHeads(
    laneOf(last),
    heads.map(({ eventId }) => eventId),
    { events: [], delayMs: 0 },
  )(client);
  expect(await take()).toBeUndefined();
  expect([await left(), await client.exists(shardKeys.behindHeads)]).toEqual([0, 0]);
});

it('gives what the attempts need, of each and of their endpoint', async () => {
  const { mustTake, form, events, accountId, endpointId, client } = await arrange(2);
  const [first, second] = events as [EventId, EventId];
  await client.set(keys.event(accountId, second), 'its event');
  await client.set(keys.delivery(endpointId, first), 'its log');
  await client.set(keys.breaker(endpointId), 'its breaker');
  await client.hset(keys.endpoints(accountId), endpointId, 'its endpoint');
  const { members } = await form(await mustTake());
  const common = { breaker: 'its breaker', endpoint: 'its endpoint' };
  expect(members.map(({ texts }) => texts)).toEqual([
    expect.objectContaining({ ...common, log: 'its log', event: null }),
    expect.objectContaining({ ...common, log: null, event: 'its event' }),
  ]);
});

it('takes as many as their events have room for, and one at least', async () => {
  const { mustTake, form, events, accountId, client } = await arrange(3);
  for (const event of events) await client.set(keys.event(accountId, event), 'x'.repeat(40));
  expect((await form(await mustTake(), 3, 100)).events).toEqual(events.slice(0, 2));
  expect((await form(await mustTake(), 3, 10)).events).toEqual(events.slice(2));
});

it('sends the same ones again after a failure, and after its worker has died', async () => {
  const { mustTake, form, end, comeDue, events, client } = await arrange(3);
  const { owned } = await form(await mustTake());
  await end(
    owned,
    events.map((event) => [event, LATER]),
  );
  await comeDue(owned.jobId);
  const again = await mustTake();
  expect([again.jobId, again.batch?.map(({ eventId }) => eventId)]).toEqual([owned.jobId, events]);
  // As the stalled check does.
  await client.del(jobKeys.lock(again.jobId));
  await client.lrem(jobKeys.active, 0, again.jobId);
  await client.rpush(jobKeys.wait, again.jobId);
  expect((await mustTake()).batch?.map(({ eventId }) => eventId)).toEqual(events);
});

it('makes a batch of those that failed, and of each half of what was too large', async () => {
  const { mustTake, form, end, comeDue, events, client, endpointId } = await arrange(4);
  const [first, second, third, fourth] = events as [EventId, EventId, EventId, EventId];
  const { owned } = await form(await mustTake());
  await end(owned, [
    [first, DONE],
    [second, LATER],
    [third, LATER],
    [fourth, LATER],
  ]);
  const jobId = batchJobIdOf(second, endpointId);
  await comeDue(jobId);
  const retry = await mustTake();
  expect(retry.batch?.map(({ eventId }) => eventId)).toEqual([second, third, fourth]);
  const at_once: MemberEnd['end'] = { kind: 'delayed', delayMs: 0 };
  await end({ ...owned, jobId, token: retry.token }, [
    [second, at_once],
    [third, at_once],
    [fourth, at_once, true],
  ]);
  const halves = [await mustTake(), await mustTake()];
  expect(halves.map(({ batch }) => batch?.map(({ eventId }) => eventId))).toEqual([
    [second, third],
    [fourth],
  ]);
  expect(await client.exists(jobKeys.job(owned.jobId))).toBe(0);
});

it('gives those that do not go with it jobs of their own, which become entries again', async () => {
  const { mustTake, form, end, lanes, entries, events, address, client } = await arrange(2);
  const [first, second] = events as [EventId, EventId];
  const { owned } = await form(await mustTake());
  await end(owned, [
    [first, DONE],
    [second, ALONE],
  ]);
  const { jobId, token } = await mustTake();
  const lane = laneNameOf(address.endpointId);
  const place = { lane, acceptedAt: NOW, request: undefined, hasBegun: false, isInBatches: true };
  await lanes.join({ ...address, eventId: second, jobId, token, ...place }, false)(client);
  expect(await entries()).toEqual([second]);
});

it('keeps the request of a delivery through its lane and its batches', async () => {
  const { queue, entry, mustTake, form, end, events, comeDue } = await arrange(1);
  const asked = uniqueEventId();
  const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW } as const;
  await queue.addRequested([{ ...entry(asked), acceptedAt: NOW + 9, request }]);
  const { owned, members } = await form(await mustTake());
  expect(members.map((member) => member.request !== undefined)).toEqual([false, true]);
  const delivery = { ...entry(asked), eventId: asked };
  expect(await queue.requestOf(delivery)).toEqual({ requestId: 'rdl_1' });
  await end(owned, [
    [events[0] as EventId, DONE],
    [asked, LATER],
  ]);
  expect(await queue.requestOf(delivery)).toEqual({ requestId: 'rdl_1' });
  await comeDue(batchJobIdOf(asked, delivery.endpointId));
  expect((await mustTake()).batch?.[0]?.request).toBeDefined();
});

it('makes no entry and no job for what is in a batch', async () => {
  const { queue, entry, mustTake, form, entries, take, events } = await arrange(2);
  await form(await mustTake());
  await queue.addAll(events.map((eventId) => entry(eventId)));
  await queue.addAll(events.map((eventId) => entry(eventId, { isInLane: false })));
  expect([await entries(), await take()]).toEqual([[], undefined]);
});

it('does nothing for a worker that has lost the lane, or the batch', async () => {
  const { mustTake, form, end, batches, laneOf, entries, events, client } = await arrange(2);
  const lost = await mustTake();
  await client.set(jobKeys.lock(lost.jobId), 'another');
  expect(await batches.form(laneOf(lost), { most: 2, maxBytes: 1_000 })(client)).toBeUndefined();
  expect(await entries()).toEqual(events);
  await client.set(jobKeys.lock(lost.jobId), lost.token);
  const { owned } = await form(lost);
  expect(await batches.form(laneOf(lost), { most: 2, maxBytes: 1_000 })(client)).toBeUndefined();
  await end({ ...owned, token: 'another' }, [[events[0] as EventId, DONE]]);
  expect(await client.exists(jobKeys.job(owned.jobId))).toBe(1);
});

it('goes on as soon as as many wait as it waits for, also if they come while it is put off', async () => {
  const { lanes, batches, mustTake, laneOf, take, queue, entry, events, counts, client } = await arrange(2);
  const hold = { reason: 'batching', since: NOW } as const;
  const put_off = { kind: 'delayed', delayMs: 60_000 } as const;
  const jobs = new RunningJobs(client, shard, LOCK_MS);
  const lane = await mustTake();
  expect(await lanes.hold(laneOf(lane), { ...hold, fullAt: 2 })).toBe(false);
  expect(await lanes.hold(laneOf(lane), { ...hold, fullAt: 3 })).toBe(true);
  expect(await counts.read()).toMatchObject({ batching: 2 });
  await createAtomic(client)([jobs.end([lane], put_off), batches.wakeIfFull(laneOf(lane))]);
  expect(await take()).toBeUndefined();
  await queue.addAll([entry(uniqueEventId(), { acceptedAt: NOW + 9 })]);
  const again = await mustTake();
  expect(again.head).toMatchObject({ eventId: events[0] });

  expect(await lanes.hold(laneOf(again), { ...hold, fullAt: 4 })).toBe(true);
  await queue.addAll([entry(uniqueEventId(), { acceptedAt: NOW + 10 })]);
  await createAtomic(client)([jobs.end([again], put_off), batches.wakeIfFull(laneOf(lane))]);
  expect((await take())?.head?.eventId).toBe(events[0]);
});

it('shows what waits in it as waiting, and all of a lane that is held and of a batch that is held as held', async () => {
  const { held, holds, counts, lanes, laneOf, mustTake, form, end, events, endpointId, address } =
    await arrange(4);
  const [first, second] = events as [EventId, EventId];
  expect([...(await held.findHeld(endpointId, events))]).toEqual([]);
  expect(await held.count(endpointId)).toBe(0);
  expect((await counts.read()).ordering).toBe(0);
  const { owned, events: batch } = await form(await mustTake(), 2);
  const lane = await mustTake();
  await lanes.hold(laneOf(lane), { reason: 'busy', since: NOW + 50 });
  expect([...(await held.findHeld(endpointId, events))]).toEqual([]);
  const deliveries = batch.map((eventId, i) => ({ eventId, acceptedAt: NOW + i }));
  const together = { jobId: owned.jobId, deliveries };
  await held.enter(address, { eventId: first, acceptedAt: NOW, together }, NOW + 1_000, 'breaker_open');
  await end(
    owned,
    batch.map((event) => [event, { kind: 'delayed', delayMs: 60_000 }]),
  );
  expect([...(await held.findHeld(endpointId, events))].toSorted()).toEqual([first, second].toSorted());
  expect(await counts.read()).toMatchObject({ breaker_open: 4 });
  expect(await holds.holdsOf(endpointId, second)).toMatchObject([{ reason: 'breaker_open' }]);

  const asked = { most: 1, wakeUpWasDueAt: NOW + 1_000, wakeUpAgainAt: NOW + 2_000, now: NOW };
  expect(await held.release(address, asked)).toMatchObject({ released: 1, missing: [] });
  expect([...(await held.findHeld(endpointId, [first, second]))]).toEqual([]);
  expect((await mustTake()).batch?.map(({ eventId }) => eventId)).toEqual([first, second]);
});

describe('of a lane that was held, what is left', () => {
  async function arrangeHeld() {
    const arranged = await arrange(3);
    const { client, lanes, laneOf, mustTake, comeDue } = arranged;
    const lane = await mustTake();
    await lanes.hold(laneOf(lane), { reason: 'disabled', since: NOW + 50 });
    const jobs = new RunningJobs(client, shard, LOCK_MS);
    await createAtomic(client)([jobs.end([lane], { kind: 'delayed', delayMs: 60_000 })]);
    await comeDue(lane.jobId);
    return { ...arranged, again: await mustTake() };
  }

  it('stays held after the first one has ended unsent, until it runs', async () => {
    const { client, lanes, laneOf, again, mustTake, form, ...arranged } = await arrangeHeld();
    const { held, holds, counts, events, endpointId, waiting } = arranged;
    const [first, second, third] = events as [EventId, EventId, EventId];
    await createAtomic(client)([
      lanes.end(laneOf(again), { eventId: first, hasRequest: false }, 'nothing', true),
    ]);
    expect([...(await held.findHeld(endpointId, events))].toSorted()).toEqual([second, third].toSorted());
    expect(await holds.findHeldAt(arranged.address, NOW + 50, 10)).toEqual([second, third]);
    expect(await counts.read()).toMatchObject({ disabled: 2 });
    const next = await mustTake();
    expect(next).toMatchObject({ head: { eventId: second }, holds: again.holds });
    await form(next, 1);
    expect([...(await held.findHeld(endpointId, events))]).toEqual([]);
    expect(await counts.read()).toMatchObject({ disabled: 0 });
    expect(await waiting()).toBe(1);
  });

  it('tells so by jobs of its own, and in the lane until it has these', async () => {
    const { client, lanes, laneOf, again, mustTake, events, counts } = await arrangeHeld();
    const entries = events.map((eventId) => ({ eventId, acceptedAt: NOW }));
    await lanes.leave(laneOf(again), entries.slice(0, 1))(client);
    expect(await counts.read()).toMatchObject({ disabled: 2 });
    expect((await mustTake()).holds).toBe(again.holds);
    const lane = await mustTake();
    expect(lane.holds).toBe(again.holds);
    await lanes.leave(laneOf(lane), entries.slice(1))(client);
    expect([(await mustTake()).holds, (await mustTake()).holds]).toEqual([again.holds, again.holds]);
    expect(await counts.read()).toMatchObject({ disabled: 0 });
  });

  it('tells so by jobs of its own after it was in a batch', async () => {
    const { again, mustTake, form, end, events } = await arrangeHeld();
    const { owned } = await form(again);
    await end(
      owned,
      events.map((event) => [event, ALONE]),
    );
    expect((await mustTake()).holds).toBe(again.holds);
  });
});

it('is brought forward for each of its deliveries, and says whether a worker has it', async () => {
  const { queue, entry, mustTake, form, end, events } = await arrange(2);
  const second = entry(events[1] as EventId);
  const { owned } = await form(await mustTake());
  expect(await queue.findRunning(second.endpointId, [second.eventId])).toEqual(new Set([second.eventId]));
  await end(
    owned,
    events.map((event) => [event, LATER]),
  );
  expect(await queue.findRunning(second.endpointId, [second.eventId])).toEqual(new Set([]));
  const { endpointId, eventId } = second;
  expect(await queue.findDelayed(endpointId, [uniqueEventId(), eventId])).toEqual([eventId]);
  await queue.promote(second.endpointId, [second.eventId]);
  expect((await mustTake()).jobId).toBe(owned.jobId);
});

it('lets go of a delivery that nobody runs, and is gone with its last one', async () => {
  const { queue, entry, mustTake, form, end, events, comeDue, left, client } = await arrange(2);
  const [first, second] = events.map((eventId) => entry(eventId)) as [NewDelivery, NewDelivery];
  const { owned } = await form(await mustTake());
  expect(await queue.removeIdle([first])).toEqual([first]);
  await end(
    owned,
    events.map((event) => [event, LATER]),
  );
  expect(await queue.removeIdle([first])).toEqual([]);
  // Its id is free, and the name of its former batch is not mistaken for that of a new one.
  await queue.addAll([first]);
  const lane = await mustTake();
  const other = await form(lane);
  expect(other.owned.jobId).not.toBe(owned.jobId);
  await comeDue(owned.jobId);
  expect((await mustTake()).batch?.map(({ eventId }) => eventId)).toEqual([second.eventId]);
  await end(other.owned, [[first.eventId, DONE]]);
  await end({ ...owned, token: 'token-3' }, [[second.eventId, LATER]]);
  await queue.removeIdle([second]);
  expect([await left(), await client.exists(jobKeys.job(owned.jobId))]).toEqual([0, 0]);
});

it('fails for good as each of its deliveries does, with a job of its own', async () => {
  const { mustTake, form, end, events, take, endpointId } = await arrange(2);
  const { owned } = await form(await mustTake());
  await end(
    owned,
    events.map((event) => [event, { kind: 'alone', failure: 'poison' }]),
  );
  const failing = [await mustTake(), await mustTake()];
  expect(failing.map(({ jobId, json }) => [jobId, json.deferredFailure])).toEqual(
    events.map((event) => [`${event}.${endpointId}`, 'poison']),
  );
  expect(await take()).toBeUndefined();
});

describe('in strict order, deliveries of one request', () => {
  it('stay the first ones of the lane until they have ended, and go together again', async () => {
    const { batches, mustTake, laneOf, events, entries, client, comeDue, queue, entry } = await arrange(4);
    const lane = await mustTake();
    const bounds = { most: 3, maxBytes: 1_000_000 };
    const of = async (job: TakenJob) =>
      (await batches.beginHeads(laneOf(job), bounds)(client)).map(({ eventId, place }) => {
        expect(place).toBe(NOW + events.indexOf(eventId));
        return eventId;
      });
    expect(await of(lane)).toEqual(events.slice(0, 3));
    const [first, second, third, fourth] = events as [EventId, EventId, EventId, EventId];
    const left = { events: [second, third], delayMs: 60_000, failure: 'rejected_in_batch' };
    await batches.endHeads(laneOf(lane), [first], left)(client);
    expect(await entries()).toEqual([second, third, fourth]);
    // One that is older than all of them, and came later.
    await queue.addAll([entry(uniqueEventId(), { acceptedAt: NOW - 1 })]);
    await comeDue(lane.jobId);
    const again = await mustTake();
    expect(again.head).toMatchObject({ eventId: second, hadBegun: true });
    expect(await of(again)).toEqual([second, third]);
    await batches.endHeads(laneOf(again), [second, third], { events: [], delayMs: 0 })(client);
    expect((await of(await mustTake())).slice(1)).toEqual([fourth]);
  });

  it('are those of which its worker knew that they go, if it dies', async () => {
    const { batches, mustTake, laneOf, events, client, queue, entry, putBack } = await arrange(4);
    const bounds = { most: 3, maxBytes: 1_000_000 };
    const of = async (job: TakenJob) =>
      (await batches.beginHeads(laneOf(job), bounds)(client)).map(({ eventId }) => eventId);
    const lane = await mustTake();
    const [first, second] = events as [EventId, EventId];
    expect(await of(lane)).toEqual(events.slice(0, 3));
    // Where the second one has not come by then, the first one goes alone.
    await putBack(lane);
    const again = await mustTake();
    expect(again.head).toMatchObject({ eventId: first, hadBegun: true });
    expect(await of(again)).toEqual([first]);

    const keepTogether = async (ofLane: OwnedLane, some: readonly EventId[], read: readonly EventId[]) =>
      await batches.keepTogether(ofLane, some, read)(client);
    const [, , third] = events as [unknown, unknown, EventId];
    expect(await keepTogether(laneOf(again), [first, third], [first, third])).toBe(false);
    expect(await keepTogether(laneOf(again), [first, second], events)).toBe(true);
    await keepTogether({ ...laneOf(again), token: 'other' }, events, events);
    await putBack(again);
    await queue.addAll([entry(uniqueEventId(), { acceptedAt: NOW - 1 })]);
    expect(await of(await mustTake())).toEqual([first, second]);
  });

  it('go when the first one is brought forward, which the others tell', async () => {
    const { batches, mustTake, take, laneOf, events, client, queue, endpointId } = await arrange(4);
    const lane = await mustTake();
    await batches.keepTogether(laneOf(lane), events.slice(0, 3), events)(client);
    const [first, , third, fourth] = events as [EventId, EventId, EventId, EventId];
    const left = { events: events.slice(0, 3), delayMs: 60_000, failure: 'http_5xx' };
    await batches.endHeads(laneOf(lane), [], left)(client);
    expect(await queue.findHeads(endpointId, [first, fourth])).toEqual(new Set());
    expect(await queue.findHeads(endpointId, [third, fourth])).toEqual(new Set([first]));
    await queue.promote(endpointId, [third, fourth]);
    expect(await take()).toBeUndefined();
    await queue.promote(endpointId, [first]);
    expect((await mustTake()).head).toMatchObject({ eventId: first, hadBegun: true });
    expect(await queue.findRunning(endpointId, events)).toEqual(new Set(events.slice(0, 3)));
  });
});

it('counts as held what a run in strict order has left, if that run found the hold', async () => {
  const { batches, lanes, mustTake, laneOf, events, client, address } = await arrange(3);
  const [first, second, third] = events as [EventId, EventId, EventId];
  const lane = await mustTake();
  await batches.beginHeads(laneOf(lane), { most: 3, maxBytes: 1_000 })(client);
  await lanes.hold(laneOf(lane), { reason: 'busy', since: NOW });
  await batches.endHeads(laneOf(lane), [first], { events: [second, third], delayMs: 60_000 })(client);
  expect(await client.hget(shardKeys.countedAsHeld, encodeAddress(address))).toBe('busy 2');
  expect(await client.exists(shardKeys.behindHeads, shardKeys.behindInBatches)).toBe(0);
});

it('counts for its endpoint as a lane does', async () => {
  const { client, address, mustTake, lanes, laneOf } = await arrange(3);
  await lanes.hold(laneOf(await mustTake()), { reason: 'busy', since: NOW });
  expect(await client.hget(shardKeys.countedAsHeld, encodeAddress(address))).toBe('busy 3');
});
