import * as fc from 'fast-check';
import type { AccountId } from '../../domain/account';
import { type AttemptOutcome, attemptOutcomes } from '../../domain/attempt';
import type { DeliveryParts } from '../../domain/delivery';
import { type AttemptedFact, type DeliveryFact, encodeFact } from '../../domain/delivery-fact';
import { readSummary } from '../../domain/delivery-log';
import { buildNewDeliveries } from '../../testing/build-new-deliveries';
import { fake } from '../../testing/fake';
import { CLAIM_IS_OVER_MS, MOVE_AFTER_MS, MovingScene } from '../../testing/moving-scene';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { withMethods } from '../../testing/with-methods';
import { PgHistory } from '../database/pg-history';
import { HistoryWriter } from '../database/pg-history-writer';
import { PgRollups } from '../database/pg-rollups';
import type { DeliveryKey } from '../history-source';
import { Metrics, type MetricsQuery } from '../metrics';
import type { MetricsPoint } from '../metrics-points';
import type { MovedHistory } from '../moved-history';
import { RecentAttempts } from '../recent-attempts';
import {
  GRAIN_MS,
  type MovedRollupsQuery,
  type RollupGrain,
  rollupDimensions,
  rollupGrains,
} from '../rollups';
import { Rehydration } from './rehydration';

if (!hasPostgres) console.warn(`SKIPPED: metrics while deliveries move, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const HOUR_MS = 3_600_000;
const TYPES = ['a.b', 'c.d'];
const ENDPOINTS = [uniqueEndpointId(), uniqueEndpointId(), uniqueEndpointId()];

/** A delivery as it is known here: with what has happened, in its order. */
interface Known extends DeliveryKey {
  readonly type: string;
  readonly facts: DeliveryFact[];
}

const attempted = (fact: DeliveryFact): fact is AttemptedFact => fact.kind === 'attempted';
const statusOf = ({ facts }: Known) => readSummary(facts.map(encodeFact).join('')).status;
const isOpen = ({ facts }: Known) => readSummary(facts.map(encodeFact).join('')).isOpen;

const outcome = fc.constantFrom<AttemptOutcome>(...attemptOutcomes);
const result = fc.record({
  outcome: fc.oneof(
    { weight: 2, arbitrary: fc.constant<AttemptOutcome>('delivered') },
    { weight: 3, arbitrary: outcome },
  ),
  durationMs: fc.oneof(
    fc.double({ min: 0, max: 2, noNaN: true }),
    fc.double({ min: 1, max: 60_000, noNaN: true }),
  ),
  ends: fc.constantFrom('retry', 'exhausted', 'aborted', 'exhausted'),
  isLate: fc.nat(5).map((n) => n === 0),
});
type Result = typeof result extends fc.Arbitrary<infer Value> ? Value : never;

const query = fc.record({
  interval: fc.constantFrom(...rollupGrains),
  groupBy: fc.option(fc.constantFrom(...rollupDimensions), { nil: undefined }),
  // All of it, or some minutes.
  lengthMs: fc.oneof(fc.constant(48 * HOUR_MS), fc.nat(HOUR_MS / 10)),
  endedMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3 * HOUR_MS) }),
});
type Asked = typeof query extends fc.Arbitrary<infer Value> ? Value : never;

// What a reader meets: the mover moves, as a whole or with a crash, before or after each step of a read.
const MOMENTS = ['never', 'before the lists', 'before the logs', 'before the history'] as const;
type Moment = (typeof MOMENTS)[number];

type Step =
  | {
      readonly kind: 'accept';
      readonly type: number;
      readonly endpoints: number;
      readonly results: readonly Result[];
    }
  | {
      readonly kind: 'attempt' | 'send again' | 'record late';
      readonly which: number;
      readonly results: readonly Result[];
    }
  | { readonly kind: 'move'; readonly crashes: boolean }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'ask'; readonly asked: Asked; readonly moves: Moment };

const results = fc.array(result, { minLength: 1, maxLength: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('accept' as const),
      type: fc.nat(1),
      endpoints: fc.integer({ min: 1, max: 3 }),
      results,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('attempt' as const), which: fc.nat(50), results }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('send again' as const), which: fc.nat(50), results }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('record late' as const), which: fc.nat(50), results }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), crashes: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(3 * HOUR_MS) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      asked: query,
      moves: fc.oneof(fc.constant(MOMENTS[0]), fc.constantFrom(...MOMENTS)),
    }),
  },
);

describePostgres('metrics of deliveries that move to the history, and come back', () => {
  let scene: MovingScene;
  let test: TestHistory;
  beforeAll(async () => {
    [scene, test] = await Promise.all([MovingScene.open(), openTestHistory()]);
  });
  afterAll(async () => {
    await Promise.all([scene.close(), test.close()]);
  });

  const seen = { moved: 0, inBoth: 0 };

  /** An account with what is to be known of it. */
  class Played {
    readonly accountId: AccountId = uniqueAccountId();
    readonly known: Known[] = [];
    #requests = 0;

    async play(one: Step): Promise<void> {
      switch (one.kind) {
        case 'accept':
          return await this.#accept(TYPES[one.type] ?? '', one.endpoints, one.results);
        case 'attempt':
          return await this.#attempt(this.#some(one.which, isOpen), one.results);
        case 'send again':
          return await this.#sendAgain(
            this.#some(one.which, (delivery) => !isOpen(delivery)),
            one.results,
          );
        case 'record late':
          return await this.#recordLate(one.which, one.results);
        case 'move':
          return await move(one.crashes);
        case 'pass':
          scene.now += one.ms;
          return;
        case 'ask':
          return await this.#ask(one.asked, one.moves);
      }
    }

    async #accept(type: string, count: number, all: readonly Result[]): Promise<void> {
      const body = JSON.stringify({ type, data: {} });
      const { event } = await scene.arrange([], {
        accountId: this.accountId,
        type,
        body,
        acceptedAt: scene.now,
      });
      const endpointIds = ENDPOINTS.slice(0, count);
      await scene.eventStore.addReceivers(this.accountId, event.id, endpointIds)(scene.redis.client);
      await scene.deliveryStore.enlistAll(
        buildNewDeliveries(event.id, endpointIds, event.acceptedAt, this.accountId),
      )(scene.redis.client);
      for (const [i, endpointId] of endpointIds.entries()) {
        const delivery = { eventId: event.id, createdAt: event.acceptedAt, endpointId, type, facts: [] };
        this.known.push(delivery);
        await this.#attempt(delivery, all.slice(0, i + 1));
      }
    }

    async #attempt(delivery: Known | undefined, all: readonly Result[]): Promise<void> {
      for (const one of all) {
        if (!delivery || !isOpen(delivery)) return;
        scene.now += 1_000;
        const number = delivery.facts.filter(attempted).length + 1;
        const { durationMs } = one;
        const isLate = one.isLate && number > 1;
        await this.#note(delivery, {
          kind: 'attempted',
          attempt: { number, startedAt: scene.now - (isLate ? 2_500 : 0), durationMs, outcome: one.outcome },
          nextAttemptAt: one.outcome !== 'delivered' && one.ends === 'retry' ? scene.now + 9_000 : undefined,
          isAborted: one.outcome !== 'delivered' && one.ends === 'aborted',
          ...(isLate ? { isLate } : {}),
        });
      }
    }

    async #sendAgain(delivery: Known | undefined, all: readonly Result[]): Promise<void> {
      if (!delivery) return;
      const rehydration = new Rehydration({ ...scene.parts, pgHistory: new PgHistory(test.database) });
      await rehydration.whileRehydrated(this.accountId, [delivery], async () => {
        const requestId = `r${(this.#requests += 1)}`;
        await this.#note(delivery, {
          kind: 'requested',
          requestId,
          trigger: 'manual',
          requestedAt: scene.now,
        });
      });
      await this.#attempt(delivery, all);
    }

    // By a worker that had stopped, while the delivery is still here.
    async #recordLate(which: number, all: readonly Result[]): Promise<void> {
      const delivery = this.#some(which, () => true);
      const [one] = all;
      if (!delivery || !one || (await scene.logInRedis(delivery)) === null) return;
      if (await scene.deliveryStore.hasLapsed(delivery)) return;
      const number = delivery.facts.filter(attempted).length;
      scene.now += 1_000;
      const attempt = {
        number,
        startedAt: scene.now - 60_500,
        durationMs: one.durationMs,
        outcome: one.outcome,
      };
      await this.#note(delivery, { kind: 'attempted', attempt, nextAttemptAt: undefined, isLate: true });
    }

    async #note(delivery: Known, fact: DeliveryFact): Promise<void> {
      delivery.facts.push(fact);
      await scene.deliveryStore.append(delivery, fact);
      const { accountId } = this;
      const { eventId, endpointId } = delivery;
      if (!isOpen(delivery)) await scene.endedList.add({ accountId, eventId, endpointId }, scene.now);
    }

    #some(which: number, isWanted: (delivery: Known) => boolean): Known | undefined {
      const wanted = this.known.filter(isWanted);
      return wanted[which % Math.max(wanted.length, 1)];
    }

    async #ask({ interval, groupBy, lengthMs, endedMs }: Asked, moves: Moment): Promise<void> {
      const until = scene.now - endedMs + 1;
      const since = until - Math.min(lengthMs, 1_900 * GRAIN_MS[interval]);
      const asked = { interval, groupBy, since, until };
      const at = (moment: Moment) => (moment === moves ? move(false) : undefined);
      const { eventStore, deliveryStore } = scene;
      const recentAttempts = new RecentAttempts({
        eventStore: withMethods(eventStore, {
          list: async (...given: Parameters<typeof eventStore.list>) => {
            await at('before the lists');
            return await eventStore.list(...given);
          },
        }),
        deliveryStore: withMethods(deliveryStore, {
          readLogs: async (some: readonly DeliveryParts[]) => {
            await at('before the logs');
            return await deliveryStore.readLogs(some);
          },
        }),
      });
      const rollups = new PgRollups(test.database);
      const pgRollups = withMethods(rollups, {
        read: async (given: MovedRollupsQuery) => {
          await at('before the history');
          const read = await rollups.read(given);
          if (read.rollups.length > 0) seen.moved += 1;
          if (read.logs.some((log) => log !== undefined)) seen.inBoth += 1;
          return read;
        },
      });
      const movedHistory = fake<MovedHistory>({ movedStore: scene.movedStore, pgRollups });
      const metrics = new Metrics({ eventStore, recentAttempts, movedHistory, clock: () => scene.now });
      const { points } = await metrics.countAttempts(this.accountId, asked);
      expectSame(points, expectedOf(this.known, asked));
    }
  }

  /** Move all that has ended. @param crashes the process dies after it has written, and before it removes. */
  async function move(crashes: boolean): Promise<void> {
    const historyWriter = new HistoryWriter(test.database, () => scene.now);
    const movedStore = withMethods(scene.movedStore, {
      raiseMovedUntil: () => async () => {
        throw new Error('It dies.');
      },
    });
    if (crashes) {
      await scene.moveAfter(MOVE_AFTER_MS, { historyWriter, movedStore }).catch(() => {});
      return;
    }
    while ((await scene.moveAfter(CLAIM_IS_OVER_MS + MOVE_AFTER_MS, { historyWriter })).isFull);
  }

  it('are what a plain count of all attempts is', async () => {
    const steps = fc.array(step, { minLength: 10, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const played = new Played();
        for (const one of all) await played.play(one);
      }),
      { numRuns: 60 },
    );
    expect(scene.signals.named('history.row_refused')).toEqual([]);
    expect(seen.moved).toBeGreaterThan(10);
    expect(seen.inBoth).toBeGreaterThan(5);
  });
});

type Counts = Omit<MetricsPoint, 'p50' | 'p95' | 'p99' | 'lagP50' | 'lagP95'>;

class Expected implements Counts {
  attempts = 0;
  delivered = 0;
  failed = 0;
  retried = 0;
  exhausted = 0;
  readonly durations: number[] = [];
  readonly lags: number[] = [];

  constructor(
    readonly start: number,
    readonly value: string | undefined,
  ) {}
}

/** Attempt by attempt, from what is known. */
function expectedOf(
  known: readonly Known[],
  { interval, groupBy, since = 0, until = 0 }: MetricsQuery & { readonly interval: RollupGrain },
): readonly Expected[] {
  const lengthMs = GRAIN_MS[interval];
  const points = new Map<string, Expected>();
  for (const delivery of known) {
    const attempts = delivery.facts.filter(attempted);
    const deciding = attempts
      .filter(({ isLate, attempt }) => !isLate || attempt.outcome === 'delivered')
      .at(-1);
    for (const fact of attempts) {
      const { startedAt, durationMs, number, outcome: how } = fact.attempt;
      const start = startedAt - (startedAt % lengthMs);
      if (start < since - (since % lengthMs) || start >= until) continue;
      const groups = { webhook_id: delivery.endpointId, event_type: delivery.type, outcome: how };
      const value = groupBy && groups[groupBy];
      const point = points.get(`${start} ${value}`) ?? new Expected(start, value);
      points.set(`${start} ${value}`, point);
      point.attempts += 1;
      point.delivered += how === 'delivered' ? 1 : 0;
      point.failed += how === 'delivered' ? 0 : 1;
      point.retried += number > 1 ? 1 : 0;
      point.exhausted += statusOf(delivery) === 'exhausted' && fact === deciding ? 1 : 0;
      point.durations.push(durationMs);
      if (how === 'delivered') point.lags.push(startedAt + durationMs - delivery.createdAt);
    }
  }
  return [...points.values()].toSorted(
    (a, b) => a.start - b.start || ((a.value ?? '') < (b.value ?? '') ? -1 : 1),
  );
}

function countsOf({ start, value, attempts, delivered, failed, retried, exhausted }: Counts) {
  return { start: new Date(start).toISOString(), value, attempts, delivered, failed, retried, exhausted };
}

function expectSame(points: readonly MetricsPoint[], all: readonly Expected[]): void {
  expect(points.map(countsOf)).toEqual(all.map(countsOf));
  for (const [i, expected] of all.entries()) expectNear(points[i], expected);
}

function expectNear(found: MetricsPoint | undefined, { durations, lags }: Expected): void {
  const near = (times: readonly number[], share: number) => {
    const exact = times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1];
    if (exact === undefined) return undefined;
    // At 1 ms at least.
    const isNear = (ms: number) => Math.abs(ms / Math.max(exact, 1) - 1) <= 0.022;
    return { asymmetricMatch: isNear, toString: () => `about ${exact}` };
  };
  expect(found?.p50).toEqual(near(durations, 0.5));
  expect(found?.p95).toEqual(near(durations, 0.95));
  expect(found?.p99).toEqual(near(durations, 0.99));
  expect(found?.lagP50).toEqual(near(lags, 0.5));
  expect(found?.lagP95).toEqual(near(lags, 0.95));
}
