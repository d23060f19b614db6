import * as fc from 'fast-check';
import type { Attempt } from '../../domain/attempt';
import type { DeliveryFact } from '../../domain/delivery-fact';
import { readLog, readSummary } from '../../domain/delivery-log';
import type { MovedEvent } from '../../domain/moved-event';
import { buildAcceptedAttempt, buildAttempt } from '../../testing/build-attempt';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { deliveryLog } from '../../testing/delivery-logs';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { createSeededRandom } from '../../testing/seeded-random';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { uniqueEndpointId } from '../../testing/unique-ids';
import type { WalkedDelivery } from '../history-source';
import { mergeLogs } from '../merge-logs';
import {
  bucketOf,
  countedLogOf,
  type Histogram,
  type MovedRollupsQuery,
  percentilesOf,
  type Rollup,
  type RollupQuery,
  RollupTally,
  rollupDimensions,
  rollupGrains,
} from '../rollups';
import { PgRollups } from './pg-rollups';

if (!hasPostgres) console.warn(`SKIPPED: the rollups of the history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

function groupBy<Item, Key>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const MINUTE_MS = 60_000;
const START = Date.UTC(2026, 10, 24, 12);
const LENGTHS = { '1m': MINUTE_MS, '5m': 5 * MINUTE_MS, '1h': 60 * MINUTE_MS, '1d': 1_440 * MINUTE_MS };

describePostgres('the rollups of the history', () => {
  let test: TestHistory;
  beforeAll(async () => {
    test = await openTestHistory();
  });
  afterAll(() => test.close());

  const write = (events: readonly MovedEvent[]) => test.write(events);

  const attempted = (attempt: Attempt, nextAttemptAt?: number): DeliveryFact => ({
    kind: 'attempted',
    attempt,
    nextAttemptAt,
  });

  const read = async (
    { accountId }: Pick<MovedEvent, 'accountId'>,
    change: Partial<MovedRollupsQuery> = {},
  ) => {
    const all = {
      grain: '1d',
      dimension: 'outcome',
      since: 0,
      until: START + 90 * 86_400_000,
      limit: 10_000,
      recent: [],
    } as const;
    return (await new PgRollups(test.database).read({ accountId, ...all, ...change })).rollups;
  };

  const total = (histogram: Histogram) => [...histogram.values()].reduce((sum, count) => sum + count, 0);

  it('count what the logs say, by each length of time and each group', async () => {
    const random = createSeededRandom(7);
    const endpointIds = [uniqueEndpointId(), uniqueEndpointId()];
    const { accountId } = buildMovedEvent();
    const events = Array.from({ length: 120 }, () => {
      const createdAt = START + Math.floor(random() * 3_000) * MINUTE_MS;
      const deliveries = endpointIds.map((endpointId) => {
        const startedAt = createdAt + Math.floor(random() * 1_000);
        const first = buildAttempt({ startedAt, durationMs: random() * 400 });
        const second = {
          ...(random() < 0.5 ? buildAcceptedAttempt() : first),
          number: 2,
          startedAt: startedAt + 90_000,
          durationMs: random() * 400,
        };
        const one = buildAcceptedAttempt({ startedAt, durationMs: random() * 50 });
        const facts =
          random() < 0.3 ? [attempted(first, startedAt + 90_000), attempted(second)] : [attempted(one)];
        return buildMovedDelivery(endpointId, facts);
      });
      const type = random() < 0.5 ? 'a.b' : 'c.d';
      return buildMovedEvent({ accountId, createdAt, deliveries, head: { type, isAimed: false } });
    });
    for (let i = 0; i < events.length; i += 50) await write(events.slice(i, i + 50));

    const attempts = events.flatMap(({ createdAt, head, deliveries }) =>
      deliveries.flatMap(({ endpointId, log }) => {
        const { attempts: all, status } = readLog(log);
        return all.map((attempt, i) => ({
          ...attempt,
          lagMs: attempt.startedAt + attempt.durationMs - createdAt,
          isExhausted: status === 'exhausted' && i === all.length - 1,
          outcome: attempt.outcome,
          event_type: head.type,
          webhook_id: endpointId,
        }));
      }),
    );
    for (const grain of ['1m', '5m', '1h', '1d'] as const) {
      for (const dimension of ['outcome', 'event_type', 'webhook_id'] as const) {
        const groups = groupBy(
          attempts,
          (one) => `${Math.floor(one.startedAt / LENGTHS[grain]) * LENGTHS[grain]} ${one[dimension]}`,
        );
        const expected = [...groups].map(([name, some]) => {
          const [start, value] = name.split(' ');
          const delivered = some.filter(({ outcome }) => outcome === 'delivered');
          return {
            start: Number(start),
            value,
            attempts: some.length,
            delivered: delivered.length,
            retried: some.filter(({ number }) => number > 1).length,
            exhausted: some.filter(({ isExhausted }) => isExhausted).length,
            durations: countsOf(some.map(({ durationMs }) => durationMs)),
            lags: countsOf(delivered.map(({ lagMs }) => lagMs)),
          };
        });
        const inOrder = expected.toSorted(
          (a, b) => a.start - b.start || ((a.value ?? '') < (b.value ?? '') ? -1 : 1),
        );
        expect(await read({ accountId }, { grain, dimension })).toEqual(inOrder);
      }
    }
  });

  function countsOf(times: readonly number[]): Histogram {
    return new Map([...groupBy(times, bucketOf)].map(([bucket, some]) => [bucket, some.length]));
  }

  it('take back that a delivery was exhausted which was sent again', async () => {
    const endpointId = uniqueEndpointId();
    const first = attempted(buildAttempt({ startedAt: START }));
    const event = buildMovedEvent({
      createdAt: START,
      deliveries: [buildMovedDelivery(endpointId, [first])],
    });
    await write([event]);
    expect(await read(event)).toMatchObject([{ value: 'http_5xx', attempts: 1, exhausted: 1 }]);
    const request = { kind: 'requested', requestId: 'r', trigger: 'manual', requestedAt: START } as const;
    const again = attempted(buildAcceptedAttempt({ number: 2, startedAt: START + 86_400_000 }));
    const deliveries = [buildMovedDelivery(endpointId, [first, request, again])];
    await write([{ ...event, deliveries }]);
    expect(await read(event)).toMatchObject([
      { start: Date.UTC(2026, 10, 24), value: 'http_5xx', attempts: 1, delivered: 0, exhausted: 0 },
      {
        start: Date.UTC(2026, 10, 25),
        value: 'delivered',
        attempts: 1,
        delivered: 1,
        retried: 1,
        exhausted: 0,
      },
    ]);
  });

  it('count any log as readers of logs do, also one that began anew, and give what they count', async () => {
    const type = 'keyword.quick_win';
    const asked = fc.record({
      grain: fc.constantFrom(...rollupGrains),
      dimension: fc.constantFrom(...rollupDimensions),
      range: fc.tuple(fc.nat(10 * MINUTE_MS), fc.nat(10 * MINUTE_MS)),
    });
    const property = fc.asyncProperty(
      deliveryLog(type),
      fc.option(deliveryLog(type), { nil: undefined }),
      asked,
      async (log, later, { grain, dimension, range: [before, length] }) => {
        const endpointId = uniqueEndpointId();
        const event = buildMovedEvent();
        const { accountId, createdAt, id: eventId } = event;
        await write([{ ...event, deliveries: [{ endpointId, log }] }]);
        if (later !== undefined) await write([{ ...event, deliveries: [{ endpointId, log: later }] }]);
        const known = later === undefined ? log : mergeLogs(log, later);
        const since = Math.floor((createdAt + before) / LENGTHS[grain]) * LENGTHS[grain];
        const query = { accountId, grain, dimension, since, until: since + length };
        const delivery = { eventId, createdAt, endpointId, type };
        const unknown = { ...delivery, endpointId: uniqueEndpointId() };
        const recent = [unknown, delivery];
        const found = await new PgRollups(test.database).read({ ...query, limit: 100, recent });
        const until = Math.ceil(query.until / LENGTHS[grain]) * LENGTHS[grain];
        const expected = tallied({ ...query, until }, delivery, known);
        expect(found.rollups).toEqual(expected);
        expect(found.logs[0]).toBeUndefined();
        for (const counted of [found.logs[1] ?? '', countedLogOf(known)]) {
          expect(tallied({ ...query, until }, delivery, counted)).toEqual(expected);
          expect(readSummary(counted).status).toBe(readSummary(known).status);
        }
      },
    );
    // The last log takes back that the delivery was accepted, and keeps how long its attempt took.
    const accepted = '{"n":2,"t":1700000000018,"d":0}\n';
    const refused = '{"n":2,"t":1700000000018,"d":0,"o":"blocked_address"}\n';
    const always: [string, string, { grain: '1m'; dimension: 'webhook_id'; range: [number, number] }] = [
      accepted,
      refused,
      { grain: '1m', dimension: 'webhook_id', range: [0, 1] },
    ];
    await fc.assert(property, { numRuns: 150, examples: [always] });
  });

  function tallied(query: RollupQuery, delivery: WalkedDelivery, log: string): readonly Rollup[] {
    const tally = new RollupTally(query);
    tally.add(delivery, log);
    return tally.rollups();
  }

  it('give percentiles within 2.2 % of the exact ones', async () => {
    const times = Array.from({ length: 1_000 }, (_, i) => 5 + i * 1.5);
    const events = times.map((durationMs) =>
      buildMovedEvent({
        accountId: 'percentiles' as MovedEvent['accountId'],
        createdAt: START,
        deliveries: [
          buildMovedDelivery(undefined, [attempted(buildAcceptedAttempt({ startedAt: START, durationMs }))]),
        ],
      }),
    );
    for (let i = 0; i < events.length; i += 250) await write(events.slice(i, i + 250));
    const [rollup] = await read({ accountId: 'percentiles' as MovedEvent['accountId'] });
    expect(total(rollup?.durations ?? new Map())).toBe(1_000);
    for (const share of [0.5, 0.95, 0.99]) {
      const exact = times[Math.ceil(share * times.length) - 1] ?? 0;
      const [found = 0] = percentilesOf([rollup?.durations ?? new Map()], [share]);
      expect(Math.abs(found / exact - 1)).toBeLessThan(0.0221);
    }
  });

  it('end at the limit, and begin and end at the times that are asked for', async () => {
    const { accountId } = buildMovedEvent();
    const events = Array.from({ length: 6 }, (_, minute) => {
      const startedAt = START + minute * MINUTE_MS;
      const deliveries = [buildMovedDelivery(undefined, [attempted(buildAcceptedAttempt({ startedAt }))])];
      return buildMovedEvent({ accountId, createdAt: START, deliveries });
    });
    await write(events);
    const range = { grain: '1m', since: START + MINUTE_MS, until: START + 4 * MINUTE_MS } as const;
    const starts = (await read({ accountId }, range)).map(({ start }) => (start - START) / MINUTE_MS);
    expect(starts).toEqual([1, 2, 3]);
    expect(await read({ accountId }, { ...range, limit: 2 })).toHaveLength(2);
  });
});
