import { CLOSED } from '../domain/breaker';
import type { DeliveryFact } from '../domain/delivery-fact';
import { NOTHING_HAPPENED, readSummary } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { createNewId } from '../platform/ids';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { type DeliveryCursor, DeliveryStore } from './redis-delivery-store';
import type { EventMark, Retention } from './redis-event-index';

const NOW = 1_700_000_000_000;
const DAY = 86_400_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

const openStore = (retention: Partial<Retention> = {}) =>
  new DeliveryStore(redis.client, { ageMs: DAY, count: 1_000, ...retention });

type Store = ReturnType<typeof openStore>;

/** An endpoint with a delivery for each of these times of acceptance. */
async function enlistAt(store: Store, times: readonly number[]) {
  const endpointId = uniqueEndpointId();
  const newId = createNewId(() => NOW);
  const entries = times.map((createdAt) => ({ createdAt, eventId: newId('evt') as EventId }));
  for (const { eventId, createdAt } of entries) {
    await store.enlistAll(buildNewDeliveries(eventId, [endpointId], createdAt))(redis.client);
  }
  return { endpointId, entries };
}

async function readPages(store: Store, endpointId: EndpointId, limit: number): Promise<EventId[][]> {
  const pages: EventId[][] = [];
  let before: DeliveryCursor | undefined;
  do {
    const page = await store.list(endpointId, limit, before);
    pages.push(page.deliveries.map(({ eventId }) => eventId));
    before = page.nextCursor;
  } while (before);
  return pages;
}

const ENDED: DeliveryFact = { kind: 'cancelled', reason: 'x' };

describe('retention by count', () => {
  const logsOf = (endpointId: EndpointId, ids: readonly EventId[]) =>
    redis.client.exists(ids.map((eventId) => keys.delivery(endpointId, eventId)));

  it.each<[string, DeliveryFact[], number]>([
    [
      'forgets what happened to a delivery that was accepted',
      [{ kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined }],
      0,
    ],
    ['forgets what happened to a delivery that was cancelled', [{ kind: 'cancelled', reason: 'x' }], 0],
    [
      'forgets what happened to a delivery whose last attempt failed',
      [
        { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW },
        {
          kind: 'attempted',
          attempt: buildAttempt({ number: 2, responseBody: '"r":1}' }),
          nextAttemptAt: undefined,
        },
      ],
      0,
    ],
    // Otherwise it would begin again.
    [
      'keeps what happened to a delivery that will be tried again',
      [{ kind: 'attempted', attempt: buildAttempt({ responseBody: 'oh' }), nextAttemptAt: NOW }],
      1,
    ],
  ])('%s', async (_what, log, expected) => {
    const store = openStore({ count: 1 });
    const { endpointId, entries } = await enlistAt(store, [NOW]);
    const ids = entries.map(({ eventId }) => eventId);
    for (const eventId of ids) for (const fact of log) await store.append({ endpointId, eventId }, fact);
    expect(await logsOf(endpointId, ids)).toBe(1);
    await store.enlistAll(buildNewDeliveries(uniqueEventId(), [endpointId], NOW + 1))(redis.client);
    expect(await logsOf(endpointId, ids)).toBe(expected);
    expect((await store.list(endpointId, 10)).deliveries).toHaveLength(1 + expected);
  });
});

describe('enlist', () => {
  it('puts the event into the list of each endpoint, pending', async () => {
    const store = openStore({ ageMs: Date.now() });
    const eventId = uniqueEventId();
    const endpointIds = [uniqueEndpointId(), uniqueEndpointId()];
    await store.enlistAll(buildNewDeliveries(eventId, endpointIds, NOW))(redis.client);
    for (const endpointId of endpointIds) {
      expect(await store.list(endpointId, 10)).toEqual({
        deliveries: [{ eventId, createdAt: NOW, ...readSummary('') }],
        nextCursor: undefined,
      });
    }
  });

  it('tells a delivery whose log may have expired from one to which nothing has happened yet', async () => {
    const store = openStore();
    const { endpointId, entries } = await enlistAt(store, [Date.now(), Date.now() - DAY - 1]);
    const [young, old] = entries as [EventMark, EventMark];
    const forgotten = async () => (await store.list(endpointId, 10)).deliveries.map((one) => one.isForgotten);
    expect(await forgotten()).toEqual([undefined, true]);
    const { eventId } = old;
    expect(await store.find({ endpointId, eventId })).toMatchObject({ isForgotten: true });
    expect(await store.readIfAny({ endpointId, eventId })).toMatchObject({ isForgotten: true });
    for (const { eventId: each } of [young, old]) {
      await store.append({ endpointId, eventId: each }, { kind: 'cancelled', reason: 'event_expired' });
    }
    expect(await forgotten()).toEqual([undefined, undefined]);
  });

  it('changes nothing when it is done again, even at another time', async () => {
    const store = openStore();
    const { endpointId, entries } = await enlistAt(store, [NOW]);
    for (const { eventId } of entries) {
      await store.enlistAll(buildNewDeliveries(eventId, [endpointId], NOW + 5_000))(redis.client);
    }
    expect((await store.list(endpointId, 10)).deliveries).toMatchObject(entries);
  });

  it('keeps as many as the retention says: the newest', async () => {
    const store = openStore({ count: 3 });
    const { endpointId, entries } = await enlistAt(store, [NOW + 4, NOW, NOW + 1, NOW + 3, NOW + 2]);
    for (const { eventId } of entries) await store.append({ endpointId, eventId }, ENDED);
    await store.enlistAll([{ endpointId, marks: entries.slice(0, 1) }])(redis.client);
    const kept = [entries[0], entries[3], entries[4]].map((entry) => entry?.eventId);
    expect(await readPages(store, endpointId, 10)).toEqual([kept]);
  });

  it('removes nothing because one process has a clock that is ahead of Redis', async () => {
    const store = openStore();
    const now = Date.now();
    const times = [now - DAY + 3_600_000, now - 1_000, now + 15 * DAY, now + 15 * DAY + 1];
    const { endpointId, entries } = await enlistAt(store, times);
    expect((await readPages(store, endpointId, 10)).flat()).toHaveLength(entries.length);
  });

  it('removes what is older than the retention by the clock of Redis', async () => {
    const store = openStore();
    const now = Date.now();
    const { endpointId, entries } = await enlistAt(store, [now - DAY - 3_600_000, now - 1_000, now]);
    const left = (await readPages(store, endpointId, 10)).flat();
    expect(left).toEqual([entries[2]?.eventId, entries[1]?.eventId]);
  });

  it('keeps the list for the retention after its last delivery', async () => {
    const { endpointId } = await enlistAt(openStore({ ageMs: 1_000 }), [NOW]);
    await openStore({ ageMs: DAY }).enlistAll(buildNewDeliveries(uniqueEventId(), [endpointId], NOW))(
      redis.client,
    );
    const remainingMs = await redis.client.pttl(keys.deliveries(endpointId));
    expect(remainingMs).toBeGreaterThan(DAY / 2);
    expect(remainingMs).toBeLessThanOrEqual(DAY);
  });
});

describe('append and find', () => {
  it('folds what was appended into the state', async () => {
    const store = openStore();
    const { endpointId, entries } = await enlistAt(store, [NOW]);
    const parts = { endpointId, eventId: entries[0]?.eventId ?? uniqueEventId() };
    const first = buildAttempt();
    const second = buildAcceptedAttempt({ number: 2, responseBody: 'Zoë\n' });

    await store.append(parts, { kind: 'attempted', attempt: first, nextAttemptAt: NOW + 5_000 });
    const afterFirst = { status: 'pending', attempts: [first], nextAttemptAt: NOW + 5_000 };
    expect(await store.find(parts)).toMatchObject({ eventId: parts.eventId, createdAt: NOW, ...afterFirst });
    expect((await store.readWithLength(endpointId, parts.eventId)).state).toMatchObject(afterFirst);
    expect(await store.readWithBreaker(parts)).toMatchObject({ state: afterFirst, breaker: CLOSED });

    await store.append(parts, { kind: 'attempted', attempt: second, nextAttemptAt: undefined });
    const afterSecond = { status: 'delivered', attempts: [first, second], nextAttemptAt: undefined };
    expect(await store.find(parts)).toMatchObject(afterSecond);
    expect((await store.list(endpointId, 10)).deliveries).toMatchObject([
      { status: 'delivered', attemptCount: 2, lastResponseStatus: 204, nextAttemptAt: undefined },
    ]);
  });

  it("keeps apart what happened to the same event at another endpoint, and to the endpoint's other events", async () => {
    const store = openStore();
    const { endpointId, entries } = await enlistAt(store, [NOW, NOW + 1]);
    const [tried, untried] = entries.map(({ eventId }) => eventId);
    const other = uniqueEndpointId();
    if (!tried || !untried) throw new Error('arranged otherwise');
    await store.enlistAll(buildNewDeliveries(tried, [other], NOW))(redis.client);
    await store.append({ endpointId, eventId: tried }, { kind: 'cancelled', reason: 'endpoint_deleted' });

    expect(await store.find({ endpointId, eventId: tried })).toMatchObject({ status: 'cancelled' });
    expect(await store.find({ endpointId, eventId: untried })).toMatchObject({ status: 'pending' });
    expect(await store.find({ endpointId: other, eventId: tried })).toMatchObject({ status: 'pending' });
  });

  it("reads a delivery together with its endpoint's breaker", async () => {
    const parts = { endpointId: uniqueEndpointId(), eventId: uniqueEventId() };
    await redis.client.set(keys.breaker(parts.endpointId), `1 0 ${NOW} 0`);
    expect(await openStore().readWithBreaker(parts)).toEqual({
      state: NOTHING_HAPPENED,
      length: 0,
      breaker: { failures: 1, openUntil: 0 },
    });
  });

  it('does not find what was never enlisted, whose state is that nothing has happened', async () => {
    const parts = { endpointId: uniqueEndpointId(), eventId: uniqueEventId() };
    expect(await openStore().find(parts)).toBeUndefined();
    expect((await openStore().readWithLength(parts.endpointId, parts.eventId)).state).toEqual(
      NOTHING_HAPPENED,
    );
  });

  it('keeps the log no longer than the retention, whatever is appended', async () => {
    const parts = { endpointId: uniqueEndpointId(), eventId: uniqueEventId() };
    for (const nextAttemptAt of [NOW, NOW + 1, undefined]) {
      await openStore().append(parts, { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt });
      const remainingMs = await redis.client.pttl(keys.delivery(parts.endpointId, parts.eventId));
      expect(remainingMs).toBeGreaterThan(DAY / 2);
      expect(remainingMs).toBeLessThanOrEqual(DAY);
    }
  });
});

it('appends to a log in no list that would expire in a moment, as that of a deleted webhook may', async () => {
  const parts = { endpointId: uniqueEndpointId(), eventId: uniqueEventId() };
  const store = openStore();
  await store.append(parts, { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW });
  const key = keys.delivery(parts.endpointId, parts.eventId);
  await redis.client.pexpire(key, 30_000);
  const { length } = await store.readWithLength(parts.endpointId, parts.eventId);
  const cancelled = { kind: 'cancelled', reason: 'event_expired' } as const;
  expect(await store.appendIfUnchanged(parts, cancelled, length)).toBe(true);
  expect(await redis.client.pttl(key)).toBeGreaterThan(DAY / 2);
});

describe('list', () => {
  it('gives the newest first, page by page', async () => {
    const store = openStore();
    const { endpointId, entries } = await enlistAt(store, [NOW, NOW + 3, NOW + 1, NOW + 2, NOW + 4]);
    const newestFirst = entries
      .toSorted((one, other) => other.createdAt - one.createdAt)
      .map(({ eventId }) => eventId);
    expect(await readPages(store, endpointId, 2)).toEqual([
      newestFirst.slice(0, 2),
      newestFirst.slice(2, 4),
      newestFirst.slice(4),
    ]);
  });

  it.each([1, 2, 3, 7, 24, 25, 26])(
    'shows each of 25 of the same millisecond once, in pages of %d, between an older and a newer one',
    async (limit) => {
      const store = openStore();
      const times = [NOW - 1, ...Array.from({ length: 25 }, () => NOW), NOW + 1];
      const { endpointId, entries } = await enlistAt(store, times);
      const ids = entries.map(({ eventId }) => eventId);
      const sameMillisecond = ids.slice(1, 26).toSorted().toReversed();
      const pages = await readPages(store, endpointId, limit);
      expect(pages.flat()).toEqual([ids[26], ...sameMillisecond, ids[0]]);
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
    },
  );

  it('has no next page when the last one is just full', async () => {
    const store = openStore();
    const { endpointId } = await enlistAt(store, [NOW, NOW + 1]);
    expect(await store.list(endpointId, 2)).toMatchObject({ nextCursor: undefined });
  });

  it('shows nothing twice when new ones come between two pages', async () => {
    const store = openStore();
    const { endpointId, entries } = await enlistAt(store, [NOW, NOW + 1, NOW + 2]);
    const { nextCursor } = await store.list(endpointId, 2);
    await store.enlistAll(buildNewDeliveries(uniqueEventId(), [endpointId], NOW + 3))(redis.client);
    const { deliveries } = await store.list(endpointId, 2, nextCursor);
    expect(deliveries.map(({ eventId }) => eventId)).toEqual([entries[0]?.eventId]);
  });

  it('is empty for an endpoint without deliveries', async () => {
    expect(await openStore().list(uniqueEndpointId(), 10)).toEqual({ deliveries: [], nextCursor: undefined });
  });
});

it('forgets the list of an endpoint that is removed', async () => {
  const store = openStore();
  const { endpointId } = await enlistAt(store, [NOW]);
  await store.removeAll(endpointId);
  expect(await store.list(endpointId, 10)).toEqual({ deliveries: [], nextCursor: undefined });
});

it('lists a large page in its order without reading all of its logs at once', async () => {
  const store = openStore();
  const times = Array.from({ length: 60 }, (_, i) => NOW - i);
  const { endpointId, entries } = await enlistAt(store, times);
  const fact = { kind: 'attempted', attempt: buildAcceptedAttempt(), nextAttemptAt: undefined } as const;
  for (const { eventId } of entries.slice(20, 40)) await store.append({ endpointId, eventId }, fact);

  const mget = jest.spyOn(redis.client, 'mget');
  const { deliveries } = await store.list(endpointId, 60);
  const sizes = mget.mock.calls.map(([logs]) => logs.length);
  mget.mockRestore();
  expect(sizes).toEqual([25, 25, 10]);
  expect(deliveries.map(({ eventId }) => eventId)).toEqual(entries.map(({ eventId }) => eventId));
  const delivered = deliveries.map(({ status }) => status === 'delivered');
  expect(delivered).toEqual(entries.map((_, i) => i >= 20 && i < 40));
});

it('appends nothing to a log that has begun since it was read as empty, and says so', async () => {
  const store = openStore({ count: 10 });
  const delivery = { endpointId: uniqueEndpointId(), eventId: uniqueEventId() };
  const requested = { kind: 'requested', requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW } as const;
  expect(await store.appendIfUnchanged(delivery, { kind: 'cancelled', reason: 'discarded' }, 0)).toBe(true);
  expect(await store.appendIfUnchanged(delivery, requested, 0)).toBe(false);
  expect((await store.readWithLength(delivery.endpointId, delivery.eventId)).state.requestIds).toEqual([]);
});
