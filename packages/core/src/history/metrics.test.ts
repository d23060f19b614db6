import type { HeavyTurns } from '../accounts/heavy-turns';
import type { EndpointId } from '../domain/endpoint';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { fake } from '../testing/fake';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { Metrics, type MetricsParts, type MetricsQuery } from './metrics';
import { RECENT_SHOWN_FOR_MS, RecentAttempts } from './recent-attempts';
import { countAttempt, isOfSchedule, newCounts } from './rollups';

const HOUR_MS = 3_600_000;
const NOON = Date.parse('2026-11-24T12:00:00Z');
const NOW = NOON + HOUR_MS / 2;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

function arrange(mostDeliveries?: number) {
  const accountId = uniqueAccountId();
  const eventStore = new EventStore(redis.client, testRetention);
  const deliveryStore = new DeliveryStore(redis.client, testRetention);
  let passedMs = 0;
  let walks = 0;
  const recentAttempts = new RecentAttempts({
    eventStore,
    heavyTurns: fake<HeavyTurns>({
      run: (_accountId, work) => {
        walks += 1;
        return work();
      },
    }),
    deliveryStore,
    now: () => passedMs,
    ...(mostDeliveries === undefined ? {} : { mostDeliveries }),
  });

  /** An event's delivery that failed at some times, and was delivered at another, if at all. */
  async function record({
    type = 'keyword.quick_win',
    acceptedAt = NOON,
    endpointId = uniqueEndpointId(),
    failedAt = [],
    deliveredAt,
    durationMs = 100,
  }: {
    readonly type?: string;
    readonly acceptedAt?: number;
    readonly endpointId?: EndpointId | undefined;
    readonly failedAt?: readonly number[];
    readonly deliveredAt?: number;
    readonly durationMs?: number;
  }): Promise<void> {
    const event = buildEvent({ accountId, acceptedAt, type });
    await eventStore.save(event, [endpointId])(redis.client);
    await eventStore.enlistAll([{ event, deliveries: 1 }])(redis.client);
    await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpointId], acceptedAt))(redis.client);
    const parts = { eventId: event.id, endpointId };
    for (const [i, startedAt] of failedAt.entries()) {
      const attempt = buildAttempt({ number: i + 1, startedAt, durationMs, outcome: 'http_5xx' });
      const isLast = deliveredAt === undefined && i === failedAt.length - 1;
      await deliveryStore.append(parts, {
        kind: 'attempted',
        attempt,
        nextAttemptAt: isLast ? undefined : NOW,
      });
    }
    if (deliveredAt === undefined) return;
    const number = failedAt.length + 1;
    const attempt = buildAcceptedAttempt({ number, startedAt: deliveredAt, durationMs });
    await deliveryStore.append(parts, { kind: 'attempted', attempt, nextAttemptAt: undefined });
  }

  return {
    record,
    walks: () => walks,
    pass: (ms: number) => void (passedMs += ms),
    read: (query: Partial<MetricsQuery> = {}) =>
      new Metrics({ eventStore, recentAttempts, clock: () => NOW }).countAttempts(accountId, {
        interval: '1h',
        ...query,
      }),
  };
}

it('counts attempts by the hour in which they began, and deliveries that were given up', async () => {
  const { record, read } = arrange();
  const acceptedAt = NOON - HOUR_MS - 1_000;
  await record({ acceptedAt, failedAt: [NOON - HOUR_MS - 1, NOON - 1], deliveredAt: NOON });
  await record({ acceptedAt, failedAt: [NOON, NOON + 1] });
  const { points, since, until } = await read();
  expect(points).toMatchObject([
    { start: NOON - 2 * HOUR_MS, attempts: 1, delivered: 0, failed: 1, retried: 0, exhausted: 0 },
    { start: NOON - HOUR_MS, attempts: 1, delivered: 0, failed: 1, retried: 1, exhausted: 0 },
    { start: NOON, attempts: 3, delivered: 1, failed: 2, retried: 2, exhausted: 1 },
  ]);
  expect([since, until]).toEqual([NOON - 24 * HOUR_MS, NOON + HOUR_MS]);
});

it('tells percentiles of how long attempts took, and from the acceptance to the delivery', async () => {
  const { record, read } = arrange();
  for (let i = 1; i <= 100; i += 1)
    await record({ acceptedAt: NOON, deliveredAt: NOON + 5_000, durationMs: 10 * i });
  await record({ failedAt: [NOON - HOUR_MS], acceptedAt: NOON - HOUR_MS });
  const [failed, delivered] = (await read()).points;
  const near = (ms: number) => ({ asymmetricMatch: (value: number) => Math.abs(value / ms - 1) < 0.023 });
  expect(delivered).toMatchObject({ p50: near(500), p95: near(950), p99: near(990), lagP95: near(5_950) });
  expect(failed).toMatchObject({ p50: near(100), lagP95: undefined });
});

it('takes a redelivery or a replay neither for a retry nor for lag', () => {
  const counts = newCounts();
  const attempt = { startedAt: NOON, durationMs: 40, number: 1, outcome: 'delivered', isOfSchedule: true };
  countAttempt(counts, attempt, NOON);
  countAttempt(
    counts,
    { ...attempt, startedAt: NOON + HOUR_MS, number: 2, outcome: 'http_5xx', isOfSchedule: false },
    NOON,
  );
  countAttempt(counts, { ...attempt, startedAt: NOON + HOUR_MS + 1, number: 3, isOfSchedule: false }, NOON);
  expect(counts).toMatchObject({ attempts: 3, delivered: 2, retried: 0 });
  expect([...counts.lags.values()]).toEqual([1]);
});

it.each([
  [undefined, undefined, true],
  [undefined, 'test', true],
  [1, undefined, true],
  [2, undefined, false],
  [undefined, 'replay', false],
  [undefined, 'manual', false],
])(
  'takes an attempt of round %j, of a delivery that began by %j, for one of the schedule: %j',
  (round, first, is) => {
    expect(isOfSchedule(round, first)).toBe(is);
  },
);

it('groups by webhook, type or outcome', async () => {
  const { record, read } = arrange();
  const endpoints = [uniqueEndpointId(), uniqueEndpointId()].toSorted();
  const [first, second] = endpoints;
  await record({ type: 'a.b', endpointId: first, deliveredAt: NOON });
  await record({ type: 'c.d', endpointId: second, failedAt: [NOON], deliveredAt: NOON + 1 });
  const groups = async (groupBy: 'webhook_id' | 'event_type' | 'outcome') =>
    (await read({ groupBy })).points.map(({ value, attempts }) => [value, attempts]);
  expect(await groups('webhook_id')).toEqual([
    [first, 1],
    [second, 2],
  ]);
  expect(await groups('event_type')).toEqual([
    ['a.b', 1],
    ['c.d', 2],
  ]);
  expect(await groups('outcome')).toEqual([
    ['delivered', 2],
    ['http_5xx', 1],
  ]);
});

it('keeps to the time that is asked for, in whole hours, and to the last 24 of them', async () => {
  const { record, read } = arrange();
  for (const hours of [25, 24, 2, 1, 0])
    await record({ acceptedAt: NOON - 30 * HOUR_MS, deliveredAt: NOON - hours * HOUR_MS });
  const startsOf = async (query: { readonly since?: number; readonly until?: number }) =>
    (await read(query)).points.map(({ start }) => (NOON - start) / HOUR_MS);
  expect(await startsOf({})).toEqual([24, 2, 1, 0]);
  expect(await startsOf({ since: 0 })).toEqual([24, 2, 1, 0]);
  expect(await startsOf({ since: NOON - 2 * HOUR_MS + 1, until: NOON - 1 })).toEqual([2, 1]);
  expect(await startsOf({ until: 0 })).toEqual([]);
  expect(await startsOf({ since: NOW + HOUR_MS })).toEqual([]);
});

it('looks at so many deliveries at most, the newest, and says from when on it has counted', async () => {
  const { record, read } = arrange(2);
  for (const minutes of [50, 40, 30, 20])
    await record({ acceptedAt: NOON - minutes * 60_000, deliveredAt: NOON - minutes * 60_000 });
  const { points, since } = await read();
  expect(points).toMatchObject([{ attempts: 2 }]);
  expect(since).toBe(NOON - 30 * 60_000);
});

it('counts once in ten seconds, however often it is asked', async () => {
  const { record, read, pass } = arrange();
  const attempts = async () => (await read()).points.map((point) => point.attempts);
  await record({ deliveredAt: NOON });
  expect(await attempts()).toEqual([1]);
  await record({ deliveredAt: NOON });
  expect(await attempts()).toEqual([1]);
  pass(RECENT_SHOWN_FOR_MS);
  expect(await attempts()).toEqual([2]);
});

it('counts by the minute as well, and all of it together', async () => {
  const { record, read } = arrange();
  for (const minutes of [3, 3, 1]) await record({ deliveredAt: NOON - minutes * 60_000 });
  const { points } = await read({ interval: '1m' });
  expect(points.map(({ start, attempts }) => [(NOON - start) / 60_000, attempts])).toEqual([
    [3, 2],
    [1, 1],
  ]);
  const since = NOON - HOUR_MS;
  expect((await read({ interval: 'total', since })).points).toMatchObject([{ start: since, attempts: 3 }]);
});

it('reads once for all that ask at the same moment', async () => {
  const { record, read, walks } = arrange();
  await record({ deliveredAt: NOON });
  const all = await Promise.all([
    read({ groupBy: 'outcome' }),
    read({ interval: 'total' }),
    read({ interval: '1m' }),
  ]);
  expect(all.map(({ points }) => points.length)).toEqual([1, 1, 1]);
  expect(walks()).toBe(1);
});

it('counts those of one webhook alone', async () => {
  const { record, read } = arrange();
  const endpointId = uniqueEndpointId();
  await record({ deliveredAt: NOON, endpointId });
  await record({ deliveredAt: NOON });
  const only = { dimension: 'webhook_id', value: endpointId } as const;
  expect((await read({ only })).points).toMatchObject([{ value: undefined, attempts: 1 }]);
  expect((await read({ only: { ...only, value: 'wh_none' } })).points).toEqual([]);
});

it('refuses days, and more than 2,000 points', async () => {
  const { read } = arrange();
  await expect(read({ interval: '1d' })).rejects.toMatchObject({
    code: 'invalid_request',
    validationErrors: [{ pointer: '?/interval' }],
  });
  const counts = {
    attempts: 1,
    delivered: 1,
    retried: 0,
    exhausted: 0,
    durations: new Map(),
    lags: new Map(),
  };
  const rollups = Array.from({ length: 2_001 }, (_, i) => ({ start: NOON, value: `wh_${i}`, ...counts }));
  const recentAttempts = fake<RecentAttempts>({ count: async () => ({ rollups, countedFrom: undefined }) });
  const metrics = new Metrics(fake<MetricsParts>({ recentAttempts, clock: () => NOW }));
  const many = metrics.countAttempts(uniqueAccountId(), { interval: '1h', groupBy: 'webhook_id' });
  await expect(many).rejects.toMatchObject({
    code: 'invalid_request',
    validationErrors: [{ pointer: '?/since', detail: expect.stringContaining('2001 points') }],
  });
});
