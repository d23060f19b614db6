import type { AcceptedEvent } from '../domain/event';
import { keys, queueKeysOf } from '../domain/keys';
import { createQueueLayout, oneShard, shardsAmong } from '../domain/queues';
import { decodeHead } from '../events/event-text';
import { atomicOneByOne } from '../platform/redis-atomic';
import { ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import { buildAtomic } from '../testing/build-atomic';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent, buildScheduledEvent } from '../testing/build-event';
import { createClosables } from '../testing/closables';
import { openPublishContext } from '../testing/open-publish-context';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { fanOutEvents, routeEvent } from './fan-out-event';
import {
  beginScheduled,
  cancelEvent,
  listScheduled,
  rescheduleEvent,
  scheduleEvents,
  scheduleOf,
} from './schedule-events';

const HOUR_MS = 3_600_000;
const MAX_MS = 30 * 24 * HOUR_MS;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
const { willClose, closeAll } = createClosables();
afterEach(closeAll);
afterEach(() => redis.client.flushdb());
afterAll(() => redis.close());

function arrange() {
  const context = willClose(openPublishContext(redis.client));
  const now = Date.now();
  return {
    context: { ...context, clock: Date.now },
    now,
    takeDue: () => context.scheduledQueue.takeDue('bull', context.atomic),
    jobs: () => redis.client.zrange('bull:events:prioritized', '0', '-1'),
    count: () => redis.client.get(queueKeysOf('bull').scheduledCount),
    usedBytes: async (accountId: AcceptedEvent['accountId']) =>
      (await context.usageStore.look(accountId, now)).bytes.events,
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
  const { context, now, usedBytes } = arrange();
  const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
  await scheduleEvents(context, [event]);
  const { accountId, id } = event;
  const kept = await redis.client.pttl(keys.event(accountId, id));
  expect(kept).toBeGreaterThan(context.retention.ageMs + HOUR_MS);
  expect(await usedBytes(accountId)).toBe(600 + Buffer.byteLength(event.body));
  expect(await listScheduled(context, accountId, 10)).toMatchObject({
    found: [{ id }],
    nextCursor: undefined,
  });
  expect(context.signals.named('event.scheduled')).toMatchObject([{ eventId: id, deliverAt: now + HOUR_MS }]);
});

it('is on the queue of events once it is due, and not before', async () => {
  const { context, now, takeDue, jobs, count } = arrange();
  const due = buildScheduledEvent({ deliverAt: now - 1 });
  const later = buildScheduledEvent({ accountId: due.accountId, deliverAt: now + HOUR_MS });
  await scheduleEvents(context, [due, later]);
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
  const { context, now, takeDue, count } = arrange();
  await scheduleEvents(context, [buildScheduledEvent({ deliverAt: now - 1 })]);
  await takeDue();
  expect(await takeDue()).toBeUndefined();
  expect(await count()).toBeNull();
  expect(await redis.client.exists(queueKeysOf('bull').scheduledAccounts)).toBe(0);
});

it('takes turns between accounts, however many events of one are due', async () => {
  const { context, now, takeDue, jobs } = arrange();
  const many = Array.from({ length: 450 }, (_, i) =>
    buildScheduledEvent({ accountId: MANY, deliverAt: now - 1_000 + i }),
  );
  await scheduleEvents(context, many);
  const lone = buildScheduledEvent({ deliverAt: now - 1 });
  await scheduleEvents(context, [lone]);
  await takeDue();
  const taken = await jobs();
  expect(taken).toContain(`${lone.accountId}.${lone.id}.due`);
  // Of what was taken, it is the second.
  expect(taken.indexOf(`${lone.accountId}.${lone.id}.due`)).toBeLessThan(40);
});
const MANY = buildEvent().accountId;

it('is sent once, however often its queue brings it up', async () => {
  const { context, now } = arrange();
  const event = buildScheduledEvent({ deliverAt: now - 1 });
  await scheduleEvents(context, [event]);
  const entry = { accountId: event.accountId, eventId: event.id, deliverAt: now - 1 };
  const [first, again] = [await beginScheduled(context, entry), await beginScheduled(context, entry)];
  expect(first).toMatchObject({ body: event.body, acceptedAt: now - 1, schedule: { state: 'due' } });
  expect(again).toEqual(first);
});

it('goes to those that it is aimed at', async () => {
  const { context, now } = arrange();
  const endpointIds = [uniqueEndpointId(), uniqueEndpointId()];
  const event = buildScheduledEvent({ deliverAt: now - 1, endpointIds });
  await scheduleEvents(context, [event]);
  const entry = { accountId: event.accountId, eventId: event.id, deliverAt: now - 1 };
  expect(await beginScheduled(context, entry)).toMatchObject({ endpointIds });
});

it('waits on when its queue brings it up before its time', async () => {
  const { context, now } = arrange();
  const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
  await context.scheduledEvents.save(event)(redis.client);
  const entry = { accountId: event.accountId, eventId: event.id, deliverAt: now };
  expect(await beginScheduled(context, entry)).toBeUndefined();
  expect(await timesOf(event)).toEqual({ inQueue: now + HOUR_MS, inRecord: now + HOUR_MS });
});

describe.each([
  ['on one server', undefined],
  ['in a Cluster', atomicOneByOne],
])('%s', (_name, inOrderOf) => {
  const open = () => {
    const { context, ...rest } = arrange();
    return { ...rest, context: inOrderOf ? { ...context, atomic: inOrderOf(redis.client) } : context };
  };

  it.each([
    ['an earlier', -HOUR_MS / 2],
    ['a later', HOUR_MS],
  ])('is moved to %s time, with all that is kept for it', async (_which, byMs) => {
    const { context, now, usedBytes } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const { accountId, id } = event;
    await context.idempotencyStore.claim({ accountId, name: 'slot' }, 'print', 'seed', now)(redis.client);
    await scheduleEvents(context, [event], { answer: 'slot' });
    const before = await usedBytes(accountId);
    const movedTo = now + HOUR_MS + byMs;
    await rescheduleEvent(context, accountId, id, movedTo);
    expect(await timesOf(event)).toEqual({ inQueue: movedTo, inRecord: movedTo });
    expect(await usedBytes(accountId)).toBe(before);
    const keptMs = await redis.client.pttl(keys.idempotency(accountId, 'slot'));
    expect(keptMs).toBeGreaterThan(24 * HOUR_MS + Math.max(byMs, 0) + HOUR_MS - 10_000);
    expect(context.signals.named('event.rescheduled')).toMatchObject([{ eventId: id, deliverAt: movedTo }]);
  });

  it('is cancelled, on record, and sent to nobody', async () => {
    const { context, now, usedBytes, count } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const { accountId, id } = event;
    await scheduleEvents(context, [event]);
    const before = await usedBytes(accountId);
    await cancelEvent(context, accountId, id);
    // Again, as after an answer that was lost.
    await cancelEvent(context, accountId, id);
    const head = await context.eventStore.findHead(accountId, id);
    expect(head?.schedule).toEqual({
      state: 'cancelled',
      publishedAt: 1_700_000_000_000,
      deliverAt: now + HOUR_MS,
    });
    expect((await context.eventStore.list(accountId, 10)).marks.map(({ eventId }) => eventId)).toEqual([id]);
    expect(await count()).toBeNull();
    expect(await usedBytes(accountId)).toBe(before);
    const entry = { accountId, eventId: id, deliverAt: now + HOUR_MS };
    expect(await beginScheduled(context, entry)).toBeUndefined();
    expect(context.signals.named('event.cancelled')).toHaveLength(1);
  });

  it('can be neither moved nor cancelled once it is due, whether its queue has brought it up or not', async () => {
    const { context, now } = open();
    const event = buildScheduledEvent({ deliverAt: now - 1 });
    const { accountId, id } = event;
    await scheduleEvents(context, [event]);
    const expectRefused = async () => {
      const code = 'already_due';
      await expect(rescheduleEvent(context, accountId, id, now + HOUR_MS)).rejects.toMatchObject({ code });
      await expect(cancelEvent(context, accountId, id)).rejects.toMatchObject({ code });
    };
    await expectRefused();
    await beginScheduled(context, { accountId, eventId: id, deliverAt: now - 1 });
    await expectRefused();
  });

  it.each(['waits', 'was cancelled'])(
    'is not sent when it is published to be sent at once while it %s',
    async (which) => {
      const { context, now } = open();
      const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
      await scheduleEvents(context, [event]);
      if (which === 'was cancelled') await cancelEvent(context, event.accountId, event.id);
      const { schedule: _schedule, ...atOnce } = event;
      const other = buildEvent({ accountId: event.accountId });
      const subscriptions = await context.subscriptions.current(event.accountId);
      const route = async (one: AcceptedEvent) => await routeEvent(context, one, subscriptions);
      await fanOutEvents(context, [await route({ ...atOnce, acceptedAt: now }), await route(other)]);
      expect(context.signals.named('event.fanned_out').map(({ eventId }) => eventId)).toEqual([other.id]);
    },
  );

  it('stays as it is when it is published to be sent later once more', async () => {
    const { context, now } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const other = buildScheduledEvent({ accountId: event.accountId, deliverAt: now + HOUR_MS });
    await scheduleEvents(context, [event]);
    await rescheduleEvent(context, event.accountId, event.id, now + 2 * HOUR_MS);
    await scheduleEvents(context, [event, other]);
    const announced = context.signals.named('event.scheduled').map(({ eventId }) => eventId);
    expect(announced).toEqual([event.id, other.id]);
    expect(await timesOf(event)).toEqual({ inQueue: now + 2 * HOUR_MS, inRecord: now + 2 * HOUR_MS });
    expect(await timesOf(other)).toEqual({ inQueue: now + HOUR_MS, inRecord: now + HOUR_MS });
  });

  it('is known to its queue after a publish that broke off in between was repeated', async () => {
    const { context, now } = open();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    await context.scheduledEvents.save(event)(redis.client);
    await scheduleEvents(context, [event]);
    expect(await timesOf(event)).toEqual({ inQueue: now + HOUR_MS, inRecord: now + HOUR_MS });
  });
});

it('is brought to its home shard when the queues are split again, and keeps its time', async () => {
  const { context, now } = arrange();
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
  expect(await context.scheduledQueue.readStanding()).toMatchObject({ overdueMs: 0 });
  expect(await split.readStanding()).toEqual({ waiting: 1, overdueMs: 0 });
});

it('takes less memory than a pending delivery of the same event', async () => {
  const { context, now } = arrange();
  const accountId = uniqueAccountId();
  const endpoint = buildEndpoint({ accountId });
  const list = (build: typeof buildEvent) => Array.from({ length: 500 }, () => build({ accountId }));

  const atFirst = await bytesOfKeys();
  await scheduleEvents(context, list(buildScheduledEvent));
  const withScheduled = await bytesOfKeys();
  const published = list(buildEvent).map((event) => ({ event, receivers: [endpoint] }));
  await fanOutEvents({ ...context, clock: () => now }, published);
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
  const { context, now } = arrange();
  const counts: number[] = [];
  const atomic = buildAtomic(async (steps) => {
    counts.push(steps.length);
    return await context.atomic(steps);
  });
  const accountId = uniqueAccountId();
  const events = Array.from({ length: 5 }, () =>
    buildScheduledEvent({ accountId, deliverAt: now + HOUR_MS }),
  );
  await scheduleEvents({ ...context, atomic }, events.slice(0, 1));
  await scheduleEvents({ ...context, atomic }, events.slice(1));
  const [ofOne, ofFour] = counts;
  expect(counts).toHaveLength(2);
  expect(ofFour).toBe(ofOne);
  expect(await Promise.all(events.map(({ id }) => context.eventStore.findHead(accountId, id)))).not.toContain(
    undefined,
  );
});

// Redis runs a script that it knows before one that was sent earlier, and whose text it has to be sent first.
describe('a step that another request overtakes on its way to Redis', () => {
  function overtakenBy(context: ReturnType<typeof arrange>['context'], other: () => Promise<void>) {
    const atomic = buildAtomic(async (steps) => {
      await other();
      return await context.atomic(steps);
    });
    return { ...context, atomic };
  }

  it('does not move an event that was cancelled meanwhile', async () => {
    const { context, now, count, usedBytes } = arrange();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const { accountId, id } = event;
    await scheduleEvents(context, [event]);
    const slow = overtakenBy(context, async () => await cancelEvent(context, accountId, id));
    await expect(rescheduleEvent(slow, accountId, id, now + 60_000)).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await timesOf(event)).toMatchObject({ inQueue: undefined });
    expect([await count(), await usedBytes(accountId)]).toEqual([null, 600 + Buffer.byteLength(event.body)]);
    expect((await context.eventStore.findHead(accountId, id))?.schedule?.state).toBe('cancelled');
  });

  it('cancels an event that was moved meanwhile', async () => {
    const { context, now, count, usedBytes } = arrange();
    const event = buildScheduledEvent({ deliverAt: now + HOUR_MS });
    const { accountId, id } = event;
    await scheduleEvents(context, [event]);
    const move = async () => await rescheduleEvent(context, accountId, id, now + 60_000);
    await cancelEvent(overtakenBy(context, move), accountId, id);
    expect(await timesOf(event)).toMatchObject({ inQueue: undefined });
    expect([await count(), await usedBytes(accountId)]).toEqual([null, 600 + Buffer.byteLength(event.body)]);
    expect((await context.eventStore.findHead(accountId, id))?.schedule?.state).toBe('cancelled');
  });
});
