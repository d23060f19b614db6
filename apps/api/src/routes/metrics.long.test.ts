import type { AccountId } from '@hookferry/core/domain/account';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { MovedStore } from '@hookferry/core/events/redis-moved';
import { HistoryWriter } from '@hookferry/core/history/database/pg-history-writer';
import { buildAcceptedAttempt } from '@hookferry/core/testing/build-attempt';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { buildMovedDelivery, buildMovedEvent } from '@hookferry/core/testing/build-moved-event';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import { openTestHistory, type TestHistory } from '@hookferry/core/testing/test-history';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { uniqueEndpointId } from '@hookferry/core/testing/unique-ids';
import request from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const HOUR_MS = 3_600_000;

let api: TestApi;
let key: string;
let accountId: AccountId;
beforeAll(async () => {
  api = await startTestApi();
});
beforeEach(async () => {
  ({ key, accountId } = await api.issueKey());
});
afterAll(() => api.close());

const get = (query: string) =>
  request(api.url).get(`/v1/metrics/deliveries${query}`).set('authorization', `Bearer ${key}`);

async function deliver(startedAt: number, redis = api.redis) {
  const eventStore = new EventStore(redis.client, testRetention);
  const deliveryStore = new DeliveryStore(redis.client, testRetention);
  const endpointId = uniqueEndpointId();
  const event = buildEvent({ accountId, acceptedAt: startedAt });
  await eventStore.save(event, [endpointId])(redis.client);
  await eventStore.enlistAll([{ event, deliveries: 1 }])(redis.client);
  const attempt = buildAcceptedAttempt({ startedAt, durationMs: 100 });
  await deliveryStore.append(
    { eventId: event.id, endpointId },
    { kind: 'attempted', attempt, nextAttemptAt: undefined },
  );
  return { endpointId, eventType: event.type };
}

it('gives the attempts of the last 24 hours, by the hour', async () => {
  const now = Date.now();
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  const start = new Date(hour - HOUR_MS).toISOString();
  const { endpointId } = await deliver(hour - 1);
  const { body } = await get('?group_by=webhook_id').expect(200);
  expect(body).toEqual({
    data: [
      {
        starts_at: start,
        group: { webhook_id: endpointId },
        ...{ attempts: 1, delivered: 1, failed: 0, retried: 0, exhausted: 0 },
        // Right within 2.2 %: these are 100.
        ...{ p50_ms: 100.86, p95_ms: 100.86, p99_ms: 100.86, lag_p50_ms: 100.86, lag_p95_ms: 100.86 },
      },
    ],
    interval: '1h',
    since: expect.stringMatching(/T\d\d:00:00\.000Z$/),
    until: expect.stringMatching(/T\d\d:00:00\.000Z$/),
    source: 'recent',
  });
  const { body: all } = await get(`?since=${start}&interval=1h`).expect(200);
  expect(all).toMatchObject({ data: [{ starts_at: start, group: {}, attempts: 1 }], since: start });
});

it("shows nothing of another account's", async () => {
  await deliver(Date.now());
  ({ key } = await api.issueKey());
  expect((await get('').expect(200)).body).toMatchObject({ data: [] });
});

it.each([
  ['interval=2h', '?/interval'],
  ['group_by=status', '?/group_by'],
  ['since=yesterday', '?/since'],
  ['since=2026-11-24T12:00:00Z&until=2026-11-24T11:00:00Z', '?/until'],
  ['limit=5', '?/limit'],
  ['webhook_id=wh_1', '?/webhook_id'],
  ['event_type=a.b&group_by=outcome', '?/group_by'],
])('refuses ?%s', async (query, pointer) => {
  const { body } = await get(`?${query}`).expect(422);
  expect(body).toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
});

it('gives those of one webhook or one type alone, and all of the time together', async () => {
  const { endpointId, eventType } = await deliver(Date.now());
  await deliver(Date.now());
  const attemptsOf = async (query: string) =>
    (await get(query).expect(200)).body.data.map(({ attempts }: { attempts: number }) => attempts);
  expect(await attemptsOf(`?webhook_id=${endpointId}`)).toEqual([1]);
  expect(await attemptsOf(`?interval=total&group_by=webhook_id`)).toEqual([1, 1]);
  expect(await attemptsOf(`?interval=total&event_type=${eventType}`)).toEqual([2]);
});

it('counts the events that were accepted', async () => {
  const now = Date.now();
  await deliver(now - 3 * HOUR_MS);
  await deliver(now - 3 * HOUR_MS);
  await deliver(now - 1);
  const { body } = await request(api.url)
    .get('/v1/metrics/events')
    .set('authorization', `Bearer ${key}`)
    .expect(200);
  const startOf = (at: number) => new Date(Math.floor(at / HOUR_MS) * HOUR_MS).toISOString();
  expect(body.data).toEqual([
    { starts_at: startOf(now - 3 * HOUR_MS), events: 2 },
    { starts_at: startOf(now - 1), events: 1 },
  ]);
});

it('says what other intervals need', async () => {
  const { body } = await get('?interval=1d').expect(422);
  expect(body.errors[0].detail).toContain('HISTORY_DATABASE_URL');
});

if (!hasPostgres) console.warn(`SKIPPED: metrics with a history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

describePostgres('with a history', () => {
  let history: TestHistory;
  let withHistory: TestApi;
  let issued: Awaited<ReturnType<TestApi['issueKey']>>;
  beforeAll(async () => {
    history = await openTestHistory();
    withHistory = await startTestApi({ HISTORY_DATABASE_URL: history.server.url });
  });
  beforeEach(async () => {
    issued = await withHistory.issueKey();
    ({ accountId } = issued);
  });
  afterAll(async () => {
    await withHistory.close();
    await history.close();
  });

  const read = (query: string) =>
    request(withHistory.url)
      .get(`/v1/metrics/deliveries${query}`)
      .set('authorization', `Bearer ${issued.key}`);

  /** A delivery that was accepted by its receiver then, and has moved. */
  async function move(startedAt: number) {
    const fact = {
      kind: 'attempted',
      attempt: buildAcceptedAttempt({ startedAt }),
      nextAttemptAt: undefined,
    } as const;
    const event = buildMovedEvent({
      accountId,
      createdAt: startedAt,
      deliveries: [buildMovedDelivery(uniqueEndpointId(), [fact])],
    });
    const writer = new HistoryWriter(history.database, Date.now);
    expect(await writer.write([event], Infinity)).toEqual({ kind: 'written' });
    const movedStore = new MovedStore(withHistory.redis.client, testRetention);
    await movedStore.raiseMovedUntil(accountId, { acceptedAt: startedAt, attemptAt: startedAt })(
      withHistory.redis.client,
    );
    return event;
  }

  it('counts what has moved, and what has not, by any interval', async () => {
    const now = Date.now();
    const today = Math.floor(now / (24 * HOUR_MS)) * 24 * HOUR_MS;
    await move(today - 40 * 24 * HOUR_MS);
    await move(now - 5);
    await deliver(now, withHistory.redis);
    const attemptsOf = async (query: string) =>
      (await read(query).expect(200)).body.data.map(({ attempts }: { attempts: number }) => attempts);
    const since = new Date(today - 41 * 24 * HOUR_MS).toISOString();
    expect(await attemptsOf(`?interval=1d&since=${since}`)).toEqual([1, 2]);
    const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
    for (const interval of ['1m', '5m', '1h', '1d'])
      expect(sum(await attemptsOf(`?interval=${interval}`))).toBe(2);
    expect(await attemptsOf('?group_by=webhook_id&interval=1d')).toEqual([1, 1]);
    issued = await withHistory.issueKey();
    expect(await attemptsOf(`?interval=1d&since=${since}`)).toEqual([]);
  });

  it('counts the events that were accepted, once each, wherever they are', async () => {
    const now = Date.now();
    const { id, head } = await move(now - 26 * HOUR_MS);
    await move(now - 2 * HOUR_MS);
    await deliver(now, withHistory.redis);
    // It is about to be redelivered: it is in both places.
    const eventStore = new EventStore(withHistory.redis.client, testRetention);
    const back = buildEvent({ accountId, id, type: head.type, acceptedAt: now - 26 * HOUR_MS });
    await eventStore.save(back, [])(api.redis.client);
    await eventStore.enlistAll([{ event: back, deliveries: 0 }])(api.redis.client);
    const readEvents = async (query: string) => {
      const answer = await request(withHistory.url)
        .get(`/v1/metrics/events${query}`)
        .set('authorization', `Bearer ${issued.key}`)
        .expect(200);
      return answer.body.data.map(({ events }: { events: number }) => events);
    };
    const since = new Date(now - 27 * HOUR_MS).toISOString();
    for (const interval of ['1m', '5m', '1h'])
      expect(await readEvents(`?interval=${interval}&since=${since}`)).toEqual([1, 1, 1]);
    expect(await readEvents('')).toEqual([1, 1]);
  });

  it.each([
    ['interval=1m', 30, '?/interval', '1h fits'],
    ['interval=1m&group_by=outcome', 3, '?/interval', '5m fits'],
    ['interval=1d', 2_001, '?/since', 'no interval fits'],
  ])('refuses ?%s over %d days, and says what fits', async (query, days, pointer, detail) => {
    const since = new Date(Date.now() - days * 24 * HOUR_MS).toISOString();
    const { body } = await read(`?${query}&since=${since}`).expect(422);
    expect(body).toMatchObject({ errors: [{ pointer, detail: expect.stringContaining(detail) }] });
  });

  it('refuses more than 2,000 points of groups, and says what fits', async () => {
    await move(Date.now());
    // 670 webhooks in each of three minutes.
    await history.database.connected((client) =>
      client.query(
        `INSERT INTO webhook_rollups SELECT date_bin(length, now(), '2000-01-01') - minute * length, 1, 1, 0, 0,
           keep_days, grain, dimension, account_id, 'wh_' || number, durations, lags
         FROM webhook_rollups, generate_series(1, 670) AS number,
           generate_series(0, 2) AS minute, LATERAL (SELECT CASE grain WHEN '1m' THEN interval '1 min' ELSE interval '5 min' END) AS t(length)
         WHERE account_id = $1 AND dimension = 'webhook_id' AND (grain = '1m' OR grain = '5m' AND minute = 0)`,
        [accountId],
      ),
    );
    const { body } = await read('?interval=1m&group_by=webhook_id').expect(422);
    expect(body).toMatchObject({
      errors: [{ pointer: '?/interval', detail: expect.stringContaining('5m fits') }],
    });
    expect((await read('?interval=5m&group_by=webhook_id').expect(200)).body.data).toHaveLength(671);
  });

  it('does not wait for PostgreSQL for longer than three seconds', async () => {
    await move(Date.now());
    await history.database.connected(async (client) => {
      await client.query('BEGIN; LOCK TABLE webhook_rollups');
      const { body, headers } = await read('').expect(503);
      expect(body).toMatchObject({ code: 'history_unavailable' });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      await client.query('ROLLBACK');
    });
    expect((await read('').expect(200)).body.data).toHaveLength(1);
  });

  it('gives what is newer than all that has moved, while PostgreSQL is away', async () => {
    const now = Date.now();
    await move(now - 2 * HOUR_MS);
    await deliver(now, withHistory.redis);
    await history.server.stop();
    try {
      const { body, headers } = await read('?interval=1h').expect(503);
      expect(body).toMatchObject({ code: 'history_unavailable' });
      expect(headers['retry-after']).toBeDefined();
      const since = new Date(now - 60_000).toISOString();
      const recent = await read(`?interval=1m&since=${since}`).expect(200);
      expect(recent.body.data).toMatchObject([{ attempts: 1 }]);
    } finally {
      await history.server.start();
    }
  });
});
