import type { AcceptedEvent } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { createQueueLayout, oneShard, shardsAmong } from '../domain/queues';
import { decodeHead } from '../events/event-text';
import { atomicOneByOne } from '../platform/redis-atomic';
import { ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import { buildAtomic } from '../testing/build-atomic';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent, buildScheduledEvent } from '../testing/build-event';
import { openPublishingParts } from '../testing/open-publishing-parts';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { fanOutEvents, routeEvent } from './fan-out-event';
import type { PublishingParts } from './publishing-parts';
import { ScheduledEvents, scheduleOf } from './scheduled-events';

const HOUR_MS = 3_600_000;
const MAX_MS = 30 * 24 * HOUR_MS;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterEach(() => redis.client.flushdb());
afterAll(() => redis.close());

function arrange() {
  const opened = openPublishingParts(redis.client);
  const parts = { ...opened, clock: Date.now };
  const now = Date.now();
  return {
    parts,
    scheduled: new ScheduledEvents(parts),
    now,
    takeDue: () => parts.scheduledQueue.takeDue('bull', parts.atomic),
    jobs: () => redis.client.zrange('bull:events:prioritized', '0', '-1'),
    count: () => redis.client.get(queueKeysOf('bull').scheduledCount),
    usedBytes: async (accountId: AcceptedEvent['accountId']) =>
      (await parts.usageStore.look(accountId, now)).bytes.events,
  };
}

/** By when it is due in Redis, as its queue and its record say. */
async function timesOf({ accountId, id }: AcceptedEvent) {
  const inQueue = await redis.client.zscore(queueKeysOf('bull').scheduled(accountId), id);
  const record = await redis.client.get(keys.event(accountId, id));
  return {
    inQueue: inQueue === null ? undefined : Number(inQueue),
    inRecord: record === null ? undefined : decodeHead(record).acceptedAt,
  };
}

describe('scheduleOf', () => {
  it.each([
    ['now for a time of up to a minute ago', -60_000, undefined],
    ['now for this moment', 0, undefined],
    ['later for a time ahead', 1, 'waiting'],
    ['later for the last moment that may be', MAX_MS, 'waiting'],
  ])('is %s', (_name, aheadMs, state) => {
    expect(scheduleOf(1_000_000 + aheadMs, 1_000_000, MAX_MS)?.state).toBe(state);
  });

  it.each([
    ['deliver_at_in_past', -60_001],
    ['deliver_at_too_far', MAX_MS + 1],
  ])('is refused with %s', (code, aheadMs) => {
    const work = () => scheduleOf(1_000_000 + aheadMs, 1_000_000, MAX_MS);
    expect(work).toThrow(
      expect.objectContaining({
        code,
        validationErrors: [expect.objectContaining({ pointer: '/deliver_at' })],
      }),
    );
  });
});

it('keeps the body once, for as long as it waits and RETENTION after that', async () => {
  const { parts, scheduled, now, usedBytes } = arrange();
  const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
  await scheduled.add([event]);
  const { accountId, id } = event;
  const kept = await redis.client.pttl(keys.event(accountId, id));
  expect(kept).toBeGreaterThan(parts.retention.ageMs + HOUR_MS);
  expect(await usedBytes(accountId)).toBe(600 + Buffer.byteLength(event.body));
  expect(await scheduled.list(accountId, 10)).toMatchObject({
    found: [{ id }],
    nextCursor: undefined,
  });
  expect(parts.signals.named('event.scheduled')).toMatchObject([{ eventId: id, deliverAt: now + HOUR_MS }]);
});

it('is on the queue of events once it is due, and not before', async () => {
  const { scheduled, now, takeDue, jobs, count } = arrange();
  const due = buildScheduledEvent({ deliverAt: now - 1 });
  const later = buildScheduledEvent({ accountId: due.accountId, deliverAt: now + HOUR_MS });
  await scheduled.add([due, later]);
  expect(await count()).toBe('2');
  const nextMs = await takeDue();
  expect(nextMs).toBeGreaterThan(HOUR_MS - 60_000);
  expect(nextMs).toBeLessThanOrEqual(HOUR_MS);
  expect(await jobs()).toEqual([`${due.accountId}.${due.id}.due`]);
  expect(await count()).toBe('1');
  const job = await redis.client.hgetall(`bull:events:${due.accountId}.${due.id}.due`);
  expect(JSON.parse(job.data ?? '')).toEqual({
    account_id: due.accountId,
    id: due.id,
    due_at: now - 1,
    v: 2,
  });
});

it('leaves nothing behind when all of it is due', async () => {
  const { scheduled, now, takeDue, count } = arrange();
  await scheduled.add([buildScheduledEvent({ deliverAt: now - 1 })]);
  await takeDue();
  expect(await takeDue()).toBeUndefined();
  expect(await count()).toBeNull();
  expect(await redis.client.exists(queueKeysOf('bull').scheduledAccounts)).toBe(0);
});

it('takes turns between accounts, however many events of one are due', async () => {
  const { scheduled, now, takeDue, jobs } = arrange();
  const many = Array.from({ length: 450 }, (_, i) =>
    buildScheduledEvent({ accountId: MANY, deliverAt: now - 1_000 + i }),
  );
  await scheduled.add(many);
  const lone = buildScheduledEvent({ deliverAt: now - 1 });
  await scheduled.add([lone]);
  await takeDue();
  const taken = await jobs();
  expect(taken).toContain(`${lone.accountId}.${lone.id}.due`);
  // Of what was taken, it is the second.
  expect(taken.indexOf(`${lone.accountId}.${lone.id}.due`)).toBeLessThan(40);
});
const MANY = buildEvent().accountId;

it('is sent once, however often its queue brings it up', async () => {
  const { scheduled, now } = arrange();
  const event = buildScheduledEvent({ deliverAt: now - 1 });
  await scheduled.add([event]);
  const entry = { accountId: event.accountId, eventId: event.id, deliverAt: now - 1 };
  const [first, again] = [await scheduled.begin(entry), await scheduled.begin(entry)];
  expect(first).toMatchObject({ body: event.body, acceptedAt: now - 1, schedule: { state: 'due' } });
  expect(again).toEqual(first);
});

it('goes to those that it is aimed at', async () => {
  const { scheduled, now } = arrange();
  const endpointIds = [uniqueEndpointId(), uniqueEndpointId()];
  const event = buildScheduledEvent({ deliverAt: now - 1, endpointIds });
  await scheduled.add([event]);
  const entry = { accountId: event.accountId, eventId: event.id, deliverAt: now - 1 };
  expect(await scheduled.begin(entry)).toMatchObject({ endpointIds });
});

it('waits on when its queue brings it up before its time', async () => {
  const { parts, scheduled, now } = arrange();
  const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
  await parts.scheduledEventStore.save(event)(redis.client);
  const entry = { accountId: event.accountId, eventId: event.id, deliverAt: now };
  expect(await scheduled.begin(entry)).toBeUndefined();
  expect(await timesOf(event)).toEqual({ inQueue: now + HOUR_MS, inRecord: now + HOUR_MS });
});

describe.each([
  ['on one server', undefined],
  ['in a Cluster', atomicOneByOne],
])('%s', (_name, inOrderOf) => {
  const open = () => {
    const arranged = arrange();
    if (!inOrderOf) return arranged;
    const parts = { ...arranged.parts, atomic: inOrderOf(redis.client) };
    return { ...arranged, parts, scheduled: new ScheduledEvents(parts) };
  };

  it.each([
    ['an earlier', -HOUR_MS / 2],
    ['a later', HOUR_MS],
  ])('is moved to %s time, with all that is kept for it', async (_which, byMs) => {
    const { parts, scheduled, now, usedBytes } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const { accountId, id } = event;
    await parts.idempotencyStore.claim({ accountId, name: 'slot' }, 'print', 'seed', now)(redis.client);
    await scheduled.add([event], { answer: 'slot' });
    const before = await usedBytes(accountId);
    const movedTo = now + HOUR_MS + byMs;
    await scheduled.reschedule(accountId, id, movedTo);
    expect(await timesOf(event)).toEqual({ inQueue: movedTo, inRecord: movedTo });
    expect(await usedBytes(accountId)).toBe(before);
    const keptMs = await redis.client.pttl(keys.idempotency(accountId, 'slot'));
    expect(keptMs).toBeGreaterThan(24 * HOUR_MS + Math.max(byMs, 0) + HOUR_MS - 10_000);
    expect(parts.signals.named('event.rescheduled')).toMatchObject([{ eventId: id, deliverAt: movedTo }]);
  });

  it('is moved to now, at the earliest', async () => {
    const { scheduled, now } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    await scheduled.add([event]);
    await scheduled.reschedule(event.accountId, event.id, now - 20_000);
    const { inQueue, inRecord } = await timesOf(event);
    expect(inQueue).toBeGreaterThanOrEqual(now);
    expect(inRecord).toBe(inQueue);
  });

  it('is cancelled, on record, and sent to nobody', async () => {
    const { parts, scheduled, now, usedBytes, count } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const { accountId, id } = event;
    await scheduled.add([event]);
    const before = await usedBytes(accountId);
    await scheduled.cancel(accountId, id);
    // Again, as after an answer that was lost.
    await scheduled.cancel(accountId, id);
    const head = await parts.eventStore.findHead(accountId, id);
    expect(head?.schedule).toEqual({
      state: 'cancelled',
      publishedAt: 1_700_000_000_000,
      deliverAt: now + HOUR_MS,
    });
    expect((await parts.eventStore.list(accountId, 10)).marks.map(({ eventId }) => eventId)).toEqual([id]);
    expect(await count()).toBeNull();
    expect(await usedBytes(accountId)).toBe(before);
    const entry = { accountId, eventId: id, deliverAt: now + HOUR_MS };
    expect(await scheduled.begin(entry)).toBeUndefined();
    expect(parts.signals.named('event.cancelled')).toHaveLength(1);
  });

  it('can be neither moved nor cancelled once it is due, whether its queue has brought it up or not', async () => {
    const { scheduled, now } = open();
    const event = buildScheduledEvent({ deliverAt: now - 1 });
    const { accountId, id } = event;
    await scheduled.add([event]);
    const expectRefused = async () => {
      const code = 'already_due';
      await expect(scheduled.reschedule(accountId, id, now + HOUR_MS)).rejects.toMatchObject({ code });
      await expect(scheduled.cancel(accountId, id)).rejects.toMatchObject({ code });
    };
    await expectRefused();
    await scheduled.begin({ accountId, eventId: id, deliverAt: now - 1 });
    await expectRefused();
  });

  it.each(['waits', 'was cancelled'])(
    'is not sent when it is published to be sent at once while it %s',
    async (which) => {
      const { parts, scheduled, now } = open();
      const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
      await scheduled.add([event]);
      if (which === 'was cancelled') await scheduled.cancel(event.accountId, event.id);
      const { schedule: _schedule, ...atOnce } = event;
      const other = buildEvent({ accountId: event.accountId });
      const subscriptions = await parts.subscriptions.current(event.accountId);
      const route = async (one: AcceptedEvent) => await routeEvent(parts, one, subscriptions);
      await fanOutEvents(parts, [await route({ ...atOnce, acceptedAt: now }), await route(other)]);
      expect(parts.signals.named('event.fanned_out').map(({ eventId }) => eventId)).toEqual([other.id]);
    },
  );

  it('stays as it is when it is published to be sent later once more', async () => {
    const { parts, scheduled, now } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const other = buildScheduledEvent({ accountId: event.accountId, deliverAt: now + HOUR_MS });
    await scheduled.add([event]);
    await scheduled.reschedule(event.accountId, event.id, now + 2 * HOUR_MS);
    await scheduled.add([event, other]);
    const announced = parts.signals.named('event.scheduled').map(({ eventId }) => eventId);
    expect(announced).toEqual([event.id, other.id]);
    expect(await timesOf(event)).toEqual({ inQueue: now + 2 * HOUR_MS, inRecord: now + 2 * HOUR_MS });
    expect(await timesOf(other)).toEqual({ inQueue: now + HOUR_MS, inRecord: now + HOUR_MS });
  });

  it('is known to its queue after a publish that broke off in between was repeated', async () => {
    const { parts, scheduled, now } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    await parts.scheduledEventStore.save(event)(redis.client);
    await scheduled.add([event]);
    expect(await timesOf(event)).toEqual({ inQueue: now + HOUR_MS, inRecord: now + HOUR_MS });
  });
});

it('is brought to its home shard when the queues are split again, and keeps its time', async () => {
  const { parts, now } = arrange();
  const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
  const { accountId, id } = event;
  const shards = shardsAmong(createQueueLayout(8, 'bull'), []);
  const split = new ScheduledQueue(redis.client, shards);
  const home = shards.homeShardOf(accountId);
  const [away = home] = shards.all().filter(({ prefix }) => prefix !== home.prefix);
  const elsewhere = new ScheduledQueue(redis.client, oneShard(away.prefix));
  await elsewhere.addAll([{ accountId, eventId: id, deliverAt: now + HOUR_MS }])(redis.client);
  expect(await split.bringHome(away)).toBe(1);
  expect(await split.bringHome(away)).toBe(0);
  expect(await split.list(accountId, 10)).toEqual([{ accountId, eventId: id, deliverAt: now + HOUR_MS }]);
  expect(await parts.scheduledQueue.readStanding()).toMatchObject({ overdueMs: 0 });
  expect(await split.readStanding()).toEqual({ waiting: 1, overdueMs: 0 });
});

it('takes less memory than a pending delivery of the same event', async () => {
  const { parts, scheduled, now } = arrange();
  const accountId = uniqueAccountId();
  const endpoint = buildEndpoint({ accountId });
  const list = (build: typeof buildEvent) => Array.from({ length: 500 }, () => build({ accountId }));

  const atFirst = await bytesOfKeys();
  await scheduled.add(list(buildScheduledEvent));
  const withScheduled = await bytesOfKeys();
  const published = list(buildEvent).map((event) => ({ event, receivers: [endpoint] }));
  await fanOutEvents({ ...parts, clock: () => now }, published);
  const withBoth = await bytesOfKeys();

  const each = { scheduled: (withScheduled - atFirst) / 500, pending: (withBoth - withScheduled) / 500 };
  expect(each.scheduled).toBeGreaterThan(0);
  expect(each.scheduled).toBeLessThan(each.pending);
});

/** Keys and values, all elements of them, and their places in the database's table. */
async function bytesOfKeys(): Promise<number> {
  const names = await redis.client.keys('*');
  const sizes = await Promise.all(names.map((name) => redis.client.memory('USAGE', name, 'SAMPLES', 0)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

// In a Cluster, each step waits for the one before.
it('takes no more steps for many events than for one', async () => {
  const { parts, now } = arrange();
  const counts: number[] = [];
  const atomic = buildAtomic(async (steps) => {
    counts.push(steps.length);
    return await parts.atomic(steps);
  });
  const accountId = uniqueAccountId();
  const events = Array.from({ length: 5 }, () =>
    buildScheduledEvent({ accountId, deliverAt: now + HOUR_MS }),
  );
  await new ScheduledEvents({ ...parts, atomic }).add(events.slice(0, 1));
  await new ScheduledEvents({ ...parts, atomic }).add(events.slice(1));
  const [ofOne, ofFour] = counts;
  expect(counts).toHaveLength(2);
  expect(ofFour).toBe(ofOne);
  expect(await Promise.all(events.map(({ id }) => parts.eventStore.findHead(accountId, id)))).not.toContain(
    undefined,
  );
});

// Redis runs a script that it knows before one that was sent earlier, and whose text it has to be sent first.
describe('a step that another request overtakes on its way to Redis', () => {
  function overtakenBy(parts: PublishingParts, other: () => Promise<void>): ScheduledEvents {
    const atomic = buildAtomic(async (steps) => {
      await other();
      return await parts.atomic(steps);
    });
    return new ScheduledEvents({ ...parts, atomic });
  }

  it('does not move an event that was cancelled meanwhile', async () => {
    const { parts, scheduled, now, count, usedBytes } = arrange();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const { accountId, id } = event;
    await scheduled.add([event]);
    const slow = overtakenBy(parts, async () => await scheduled.cancel(accountId, id));
    await expect(slow.reschedule(accountId, id, now + 60_000)).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await timesOf(event)).toMatchObject({ inQueue: undefined });
    expect([await count(), await usedBytes(accountId)]).toEqual([null, 600 + Buffer.byteLength(event.body)]);
    expect((await parts.eventStore.findHead(accountId, id))?.schedule?.state).toBe('cancelled');
  });

  it('cancels an event that was moved meanwhile', async () => {
    const { parts, scheduled, now, count, usedBytes } = arrange();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const { accountId, id } = event;
    await scheduled.add([event]);
    const move = async () => await scheduled.reschedule(accountId, id, now + 60_000);
    await overtakenBy(parts, move).cancel(accountId, id);
    expect(await timesOf(event)).toMatchObject({ inQueue: undefined });
    expect([await count(), await usedBytes(accountId)]).toEqual([null, 600 + Buffer.byteLength(event.body)]);
    expect((await parts.eventStore.findHead(accountId, id))?.schedule?.state).toBe('cancelled');
  });
});
