import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Queue, Worker } from 'bullmq';
import { deliveryIdOf, encodeHold, type HoldReason } from '../domain/delivery';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { readHeld } from '../testing/read-held';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeliveryHolds } from './bullmq-delivery-holds';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { HeldDeliveries } from './bullmq-held-deliveries';
import { createJobKeys } from './bullmq-layout';

const queueKeys = queueKeysOf('bull');

const NOW = 1_700_000_000_000;
const WAKE_UP_AT = NOW + 10_000;
const HOUR_MS = 3_600_000;

const jobKeys = createJobKeys(QUEUE_PREFIX, DELIVERIES_QUEUE);

let redis: TestRedis;
let queue: Queue;
let worker: Worker;
let held: HeldDeliveries;
beforeAll(async () => {
  redis = await openTestRedis();
  const connection = { connection: redis.client, prefix: QUEUE_PREFIX };
  queue = new Queue(DELIVERIES_QUEUE, connection);
  worker = new Worker(DELIVERIES_QUEUE, null, connection);
  held = new HeldDeliveries(redis.client, oneShard(QUEUE_PREFIX));
});
afterAll(async () => {
  await Promise.all([queue.close(), worker.close()]);
  await redis.close();
});
// The queue is one for all tests.
afterEach(async () => {
  await queue.resume();
  await queue.removeGlobalConcurrency();
  await queue.obliterate({ force: true });
});

/** An endpoint with so many held deliveries, each with its delayed job. */
async function arrange(count: number, { priority = 0 } = {}) {
  const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
  const jobIdOf = (eventId: EventId) => deliveryIdOf({ eventId, endpointId: address.endpointId });
  const eventIds = Array.from({ length: count }, () => uniqueEventId());
  for (const [index, eventId] of eventIds.entries()) {
    await queue.add('d', {}, { jobId: jobIdOf(eventId), delay: HOUR_MS, priority });
    await held.enter(address, { eventId, acceptedAt: NOW + index }, WAKE_UP_AT, 'busy');
  }
  return {
    address,
    eventIds,
    jobIdOf,
    jobIds: eventIds.map(jobIdOf),
    wakeUpDueAt: () => held.wakeUpDueAt(address),
    stillHeld: () => readHeld(held, address.endpointId),
    /** Releases as a look does that began when it was last asked for one. */
    async release(most: number, wakeUpAgainAt = NOW + 60_000, only?: EventId) {
      const wakeUpWasDueAt = await held.wakeUpDueAt(address);
      return await held.release(address, {
        most,
        only: only && [only],
        wakeUpWasDueAt,
        wakeUpAgainAt,
        now: NOW,
      });
    },
  };
}

describe('what a job tells of its holds', () => {
  async function arrangeOne() {
    const { address, eventIds } = await arrange(1);
    const [eventId = uniqueEventId()] = eventIds;
    const enter = (reason: HoldReason, previousStartedAt?: number) =>
      held.enter(address, { eventId, acceptedAt: NOW, previousStartedAt }, WAKE_UP_AT, reason);
    const deliveryHolds = new DeliveryHolds(redis.client, oneShard(QUEUE_PREFIX));
    return { enter, holds: () => deliveryHolds.holdsOf(address.endpointId, eventId) };
  }

  it('is each reason with its time, once as long as it stays the same', async () => {
    const { enter, holds } = await arrangeOne();
    const before = Date.now();
    for (const reason of ['busy', 'disabled', 'disabled', 'breaker_open'] as const) await enter(reason);
    const found = await holds();
    expect(found.map(({ reason }) => reason)).toEqual(['busy', 'disabled', 'breaker_open']);
    for (const { since } of found.slice(1)) expect(since).toBeGreaterThanOrEqual(before);
    expect(found.map(({ since }) => since)).toEqual(found.map(({ since }) => since).toSorted());
  });

  it('begins anew after an attempt', async () => {
    const { enter, holds } = await arrangeOne();
    await enter('disabled');
    await enter('disabled', Date.now() + 1);
    expect(await holds()).toHaveLength(1);
    await enter('breaker_open', Date.now() + 60_000);
    expect(await holds()).toMatchObject([{ reason: 'breaker_open' }]);
  });

  it('is short enough for the compact form of a job', async () => {
    const { enter, holds } = await arrangeOne();
    for (let i = 0; i < 20; i += 1) await enter(i % 2 === 0 ? 'disabled' : 'busy');
    expect((await holds()).map(encodeHold).join('').length).toBeLessThanOrEqual(64);
  });

  it('makes no job of one that is gone', async () => {
    const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
    const eventId = uniqueEventId();
    await held.enter(address, { eventId, acceptedAt: NOW }, WAKE_UP_AT, 'busy');
    const jobId = deliveryIdOf({ eventId, endpointId: address.endpointId });
    expect(await redis.client.exists(jobKeys.job(jobId))).toBe(0);
  });
});

async function take(): Promise<{ readonly id: string; readonly token: string }> {
  const token = uniqueEventId();
  const job = await worker.getNextJob(token, { block: false });
  return { id: job?.id ?? '', token };
}

describe('deliveries held together with another one', () => {
  const HOUR = 3_600_000;

  /** An endpoint's deliveries, waiting on the queue in the order in which they were accepted. */
  async function arrangeWaiting(count: number, address = uniqueAddress()) {
    const eventIds = Array.from({ length: count }, () => uniqueEventId());
    const deliveries = eventIds.map((eventId, i) => ({ ...address, eventId, acceptedAt: NOW + i }));
    await new DeliveryQueue(redis.client, oneShard(QUEUE_PREFIX)).addAll(deliveries);
    return { address, eventIds, jobIds: deliveries.map(deliveryIdOf) };
  }

  function uniqueAddress() {
    return { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
  }

  it('are the endpoint’s that would be taken next, up to two hundred; others’ stay where they are', async () => {
    const { address, eventIds, jobIds } = await arrangeWaiting(220);
    const others = await arrangeWaiting(1);
    const entry = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
    const heldWithIt = await held.enter(address, entry, WAKE_UP_AT, 'busy', HOUR);
    expect(heldWithIt).toEqual(eventIds.slice(0, heldWithIt.length));
    expect(heldWithIt.length).toBeGreaterThanOrEqual(200);
    expect(await readHeld(held, address.endpointId)).toEqual([entry.eventId, ...heldWithIt]);
    const waiting = await redis.client.zrange(jobKeys.prioritized, '0', '-1');
    expect(waiting.toSorted()).toEqual([...jobIds.slice(heldWithIt.length), ...others.jobIds].toSorted());
  });

  it('are absent unless that is asked for', async () => {
    const { address, jobIds } = await arrangeWaiting(2);
    expect(
      await held.enter(address, { eventId: uniqueEventId(), acceptedAt: NOW }, WAKE_UP_AT, 'busy'),
    ).toEqual([]);
    expect(await redis.client.zrange(jobKeys.prioritized, '0', '-1')).toEqual(jobIds);
  });

  it('leave those alone that were put back: somebody has room for them', async () => {
    const { address, jobIds } = await arrangeWaiting(2);
    const entry = { eventId: uniqueEventId(), acceptedAt: NOW - 1 };
    await held.enter(address, entry, WAKE_UP_AT, 'busy', HOUR);
    const wakeUpWasDueAt = await held.wakeUpDueAt(address);
    await held.release(address, { most: 2, wakeUpWasDueAt, wakeUpAgainAt: NOW, now: NOW });
    const released = await redis.client.zrange(jobKeys.prioritized, '0', '-1');
    expect(await held.enter(address, entry, WAKE_UP_AT, 'busy', HOUR)).toEqual([]);
    expect(await redis.client.zrange(jobKeys.prioritized, '0', '-1')).toEqual(released);
    expect(released).toEqual(jobIds);
  });

  it('leave those alone whose time of acceptance nobody knows', async () => {
    const { address, jobIds } = await arrangeWaiting(1);
    await redis.client.hset(jobKeys.job(jobIds[0] ?? ''), 'at', '');
    expect(
      await held.enter(address, { eventId: uniqueEventId(), acceptedAt: NOW }, WAKE_UP_AT, 'busy', HOUR),
    ).toEqual([]);
  });

  it('are jobs as BullMQ knows them: delayed by the time that was given or longer, and released like any other', async () => {
    const { address, eventIds, jobIds } = await arrangeWaiting(2);
    const before = Date.now();
    await held.enter(address, { eventId: uniqueEventId(), acceptedAt: NOW - 1 }, WAKE_UP_AT, 'busy', HOUR);
    for (const jobId of jobIds) {
      const job = await queue.getJob(jobId);
      expect(await job?.getState()).toBe('delayed');
      const dueAt = Number(await redis.client.zscore(jobKeys.delayed, jobId)) / 0x1000;
      expect(dueAt).toBeGreaterThan(before + HOUR);
      expect(dueAt).toBeLessThan(before + 2 * HOUR);
      // As if a worker had taken it for that: the next one knows that it has waited.
      expect(job?.attemptsStarted).toBe(1);
    }
    const wakeUpWasDueAt = await held.wakeUpDueAt(address);
    const released = await held.release(address, { most: 3, wakeUpWasDueAt, wakeUpAgainAt: NOW, now: NOW });
    expect(released).toMatchObject({ released: 2, left: 0 });
    expect((await take()).id).toBe(deliveryIdOf({ eventId: eventIds[0] ?? uniqueEventId(), ...address }));
  });

  it('are before what came to the endpoint later once they are released, and take turns with others', async () => {
    const { address, jobIds } = await arrangeWaiting(3);
    const others = await arrangeWaiting(3);
    await held.enter(address, { eventId: uniqueEventId(), acceptedAt: NOW - 1 }, WAKE_UP_AT, 'busy', HOUR);
    const later = await arrangeWaiting(1, address);
    const wakeUpWasDueAt = await held.wakeUpDueAt(address);
    await held.release(address, { most: 4, wakeUpWasDueAt, wakeUpAgainAt: NOW, now: NOW });
    const order = [];
    for (let i = 0; i < 7; i += 1) order.push((await take()).id);
    expect(new Set(order.slice(0, 2))).toEqual(new Set([jobIds[0], others.jobIds[0]]));
    expect(order.indexOf(later.jobIds[0] ?? '')).toBeGreaterThan(order.indexOf(jobIds[1] ?? ''));
    expect(new Set(order)).toEqual(new Set([...jobIds, ...others.jobIds, ...later.jobIds]));
  });
});

describe('a job that is released', () => {
  /** All that BullMQ has of it, apart from its id. */
  async function seen(jobId: string) {
    const [job, at, prioritized, wait, marker, events] = await Promise.all([
      redis.client.hgetall(jobKeys.job(jobId)),
      redis.client.zscore(jobKeys.delayed, jobId),
      redis.client.zscore(jobKeys.prioritized, jobId),
      redis.client.lrange(jobKeys.wait, 0, -1),
      redis.client.zrange(jobKeys.marker, '0', '-1', 'WITHSCORES'),
      redis.client.xrevrange(jobKeys.events, '+', '-', 'COUNT', 1),
    ]);
    const { timestamp: _, since: __, held: ___, opts = '', ...others } = job;
    const fields = { ...others, opts: opts.replaceAll(jobId, 'this one') };
    const inWait = wait.map((id) => (id === jobId ? 'this one' : 'another one'));
    const event = events.flatMap(([, pairs]) => pairs).map((text) => (text === jobId ? 'this one' : text));
    return { fields, at, prioritized, inWait, marker, event };
  }

  async function prepare(priority: number) {
    const { eventIds, jobIds, release } = await arrange(1, { priority });
    const waiting = uniqueEventId();
    await queue.add('other', {}, { jobId: waiting, priority });
    await redis.client.del(jobKeys.marker);
    return { jobId: jobIds[0] ?? '', eventId: eventIds[0], release };
  }

  // It has a place of its own, whichever it had before: the first, where nothing waits in front of it.
  it.each([
    ['without a priority', 0, 1],
    ['with a priority', 7, 7],
  ])('%s is just as after BullMQ’s own promote of one that has its place', async (_what, priority, place) => {
    const ours = await prepare(priority);
    await ours.release(1);
    const released = await seen(ours.jobId);
    await queue.obliterate({ force: true });

    const theirs = await prepare(priority);
    await (await queue.getJob(theirs.jobId))?.changePriority({ priority: place });
    const job = await queue.getJob(theirs.jobId);
    await job?.promote();
    expect(released).toEqual(await seen(theirs.jobId));
    expect(released.at).toBeNull();
  });

  it.each([
    ['is paused', () => queue.pause()],
    [
      'has as many under way as it may',
      async () => {
        await queue.add('other', {}, { jobId: uniqueEventId() });
        await take();
        await queue.setGlobalConcurrency(1);
      },
    ],
    ['has fewer under way than it may', () => queue.setGlobalConcurrency(5)],
  ])('wakes workers as BullMQ would when the queue %s', async (_what, change) => {
    async function markerAfter(put: (jobId: string, release: () => Promise<unknown>) => Promise<unknown>) {
      const { jobIds, release } = await arrange(1);
      await change();
      await redis.client.del(jobKeys.marker);
      await put(jobIds[0] ?? '', () => release(1));
      const marker = await redis.client.zrange(jobKeys.marker, '0', '-1', 'WITHSCORES');
      await queue.resume();
      await queue.removeGlobalConcurrency();
      await queue.obliterate({ force: true });
      return marker;
    }
    const ours = await markerAfter((_jobId, release) => release());
    const theirs = await markerAfter(async (jobId) => await (await queue.getJob(jobId))?.promote());
    expect(ours).toEqual(theirs);
  });

  it('is taken by a worker, and can be ended and delayed again', async () => {
    const { release, jobIds } = await arrange(1);
    await release(1);
    const token = uniqueEventId();
    const job = await worker.getNextJob(token, { block: false });
    expect(job?.id).toBe(jobIds[0]);
    await job?.moveToDelayed(Date.now() + HOUR_MS, token);
    expect(await queue.getJobState(jobIds[0] ?? '')).toBe('delayed');
  });
});

it('what is released has a place of today, and thousands at once go before nobody else', async () => {
  const { release, jobIds } = await arrange(300, { priority: 2_000 });
  const other = Array.from({ length: 100 }, () => ({
    accountId: uniqueAccountId(),
    eventId: uniqueEventId(),
    endpointId: uniqueEndpointId(),
  }));
  const deliveryQueue = new DeliveryQueue(redis.client, oneShard(QUEUE_PREFIX));
  const [first] = other;
  await deliveryQueue.addAll(other.map((delivery) => ({ ...delivery, ...first, eventId: delivery.eventId })));
  await release(300);
  const released: readonly string[] = jobIds;
  const taken: string[] = [];
  while (taken.length < 100) taken.push((await take()).id);
  expect(Math.abs(taken.filter((id) => released.includes(id)).length - 50)).toBeLessThanOrEqual(1);
});

describe('release', () => {
  it('puts back as many as may go, the first accepted ones, and forgets their entries', async () => {
    const { release, eventIds, stillHeld, jobIds } = await arrange(4);
    expect(await release(2)).toMatchObject({ released: 2, left: 2, missing: [] });
    expect(await stillHeld()).toEqual(eventIds.slice(2));
    expect([(await take()).id, (await take()).id]).toEqual(jobIds.slice(0, 2));
    expect((await take()).id).toBe('');
  });

  it('puts back by the time of acceptance, whatever the order in which they were held', async () => {
    const { release, address, jobIdOf, jobIds } = await arrange(1);
    const older = uniqueEventId();
    await queue.add('d', {}, { jobId: jobIdOf(older), delay: HOUR_MS });
    await held.enter(address, { eventId: older, acceptedAt: NOW - 1 }, WAKE_UP_AT, 'busy');
    await release(2);
    expect([(await take()).id, (await take()).id]).toEqual([jobIdOf(older), jobIds[0]]);
  });

  it('puts back the one that alone is wanted, and no other', async () => {
    const { release, eventIds, stillHeld, jobIds } = await arrange(3);
    const [first, second, third] = eventIds;
    expect(await release(8, undefined, second)).toMatchObject({ released: 1, left: 2, missing: [] });
    expect(await stillHeld()).toEqual([first, third]);
    expect((await take()).id).toBe(jobIds[1]);
  });

  it('says that the single requested one has no job, held or not', async () => {
    const { release, eventIds, jobIds } = await arrange(1);
    await queue.remove(jobIds[0] ?? '');
    expect(await release(1, undefined, eventIds[0])).toMatchObject({ missing: [eventIds[0]], left: 0 });
    expect(await release(1, undefined, eventIds[0])).toMatchObject({ missing: [eventIds[0]] });
  });

  it('lets go of entries whose job is gone or waits already, and counts none of them', async () => {
    const { release, eventIds, jobIds, stillHeld } = await arrange(3);
    await queue.remove(jobIds[0] ?? '');
    await (await queue.getJob(jobIds[1] ?? ''))?.promote();
    expect(await release(1)).toMatchObject({ released: 1, left: 0, missing: [expect.anything()] });
    expect(await stillHeld()).toEqual([]);
    expect(await queue.getJobCountByTypes('wait', 'prioritized')).toBe(2);
    expect(eventIds).toHaveLength(3);
  });

  it('lets go of an entry whose job waits by its priority, and puts no second one there', async () => {
    const { release, jobIds } = await arrange(1, { priority: 3 });
    await (await queue.getJob(jobIds[0] ?? ''))?.promote();
    expect(await release(1)).toMatchObject({ released: 0, left: 0 });
    expect(await queue.getJobCountByTypes('prioritized')).toBe(1);
  });

  it('keeps the entry of a job that a worker is at, lets another one go instead, and looks again soon', async () => {
    const { release, eventIds, jobIds, stillHeld, wakeUpDueAt } = await arrange(2);
    await (await queue.getJob(jobIds[0] ?? ''))?.promote();
    await take();
    expect(await release(1, NOW + 10_000)).toMatchObject({ released: 1, left: 1, missing: [] });
    expect(await stillHeld()).toEqual(eventIds.slice(0, 1));
    expect(await wakeUpDueAt()).toBe(NOW + 100);
  });

  it('loses nothing and puts nothing back twice, however many look at once', async () => {
    const { release, stillHeld } = await arrange(6);
    const released = await Promise.all([1, 2, 3, 4].map(() => release(2, WAKE_UP_AT)));
    expect(released.reduce((sum, each) => sum + each.released, 0)).toBe(6);
    expect(await stillHeld()).toEqual([]);
    expect(await queue.getJobCountByTypes('wait', 'prioritized')).toBe(6);
  });
});

describe('a look', () => {
  it('is asked for when a delivery is entered, unless there is one before', async () => {
    const { address, wakeUpDueAt } = await arrange(1);
    await held.enter(address, { eventId: uniqueEventId(), acceptedAt: NOW }, WAKE_UP_AT + 1, 'busy');
    expect(await wakeUpDueAt()).toBe(WAKE_UP_AT);
    await held.enter(address, { eventId: uniqueEventId(), acceptedAt: NOW }, WAKE_UP_AT - 1, 'busy');
    expect(await wakeUpDueAt()).toBe(WAKE_UP_AT - 1);
  });

  it('is due again when it says so, and not any more when nothing is held', async () => {
    const { release, wakeUpDueAt } = await arrange(2);
    await release(1, NOW + 500);
    expect(await wakeUpDueAt()).toBe(NOW + 500);
    await release(1, NOW + 500);
    expect(await wakeUpDueAt()).toBeUndefined();
  });

  it.each([
    ['earlier than the one that is under way', WAKE_UP_AT - 500],
    // The model found it: an endpoint that was enabled while a look had found it disabled kept what it held.
    ['at the very time of the one that is under way', WAKE_UP_AT],
    ['later than the one that is under way', WAKE_UP_AT + 500],
  ])('that is asked for meanwhile, %s, is not taken away', async (_what, at) => {
    const { address, wakeUpDueAt } = await arrange(1);
    const request = { most: 0, wakeUpWasDueAt: await wakeUpDueAt(), wakeUpAgainAt: at + 60_000, now: NOW };
    await held.askForWakeUp(address, at);
    await held.release(address, request);
    expect(await wakeUpDueAt()).toBeLessThanOrEqual(at);
  });

  it('is asked for where nothing is held as well', async () => {
    const address = { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
    await held.askForWakeUp(address, WAKE_UP_AT);
    expect(await held.wakeUpDueAt(address)).toBe(WAKE_UP_AT);
  });

  it('that is due goes to one of all who ask, and is due again soon in case it does not come to it', async () => {
    await redis.client.del(queueKeys.wakeUps);
    const { address, wakeUpDueAt } = await arrange(1);
    expect(await held.claimDueWakeUps(WAKE_UP_AT - 1, 10)).toEqual([]);
    const claims = await Promise.all([1, 2, 3].map(() => held.claimDueWakeUps(WAKE_UP_AT, 10)));
    expect(claims.flat()).toEqual([address]);
    expect(await wakeUpDueAt()).toBe(WAKE_UP_AT + 5_000);
    expect(await held.claimDueWakeUps(WAKE_UP_AT + 5_000, 10)).toEqual([address]);
  });
});

it('tells what is held, in the order of acceptance, once each', async () => {
  const { address, eventIds } = await arrange(3);
  const [first = uniqueEventId(), second = uniqueEventId(), third = uniqueEventId()] = eventIds;
  await held.enter(address, { eventId: first, acceptedAt: NOW + 9 }, WAKE_UP_AT, 'busy');
  expect(await readHeld(held, address.endpointId)).toEqual([first, second, third]);
  expect(await held.count(address.endpointId)).toBe(3);
  expect(await held.isHeld(address.endpointId, third)).toBe(true);
  const unknownEndpoint = uniqueEventId();
  expect(await held.isHeld(address.endpointId, unknownEndpoint)).toBe(false);
  expect(await held.findHeld(address.endpointId, [unknownEndpoint, second])).toEqual(new Set([second]));
  expect(await held.findHeld(address.endpointId, [])).toEqual(new Set());
});
