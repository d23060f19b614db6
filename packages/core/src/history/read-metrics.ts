import type { AccountId } from '../domain/account';
import { attemptOutcomes } from '../domain/attempt';
import { type AppError, invalidRequest } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { RecentAttempts, RecentDelivery } from './count-recent';
import { mergeLogs } from './merge-logs';
import {
  GRAIN_MS,
  type MovedRollups,
  type MovedRollupsQuery,
  percentilesOf,
  type Rollup,
  type RollupDimension,
  type RollupGrain,
  RollupTally,
  rollupGrains,
} from './rollups';

/** Which attempts to count, and how to group them. */
export interface MetricsQuery {
  readonly interval: RollupGrain;
  /** Absent: all of a time together. */
  readonly groupBy?: RollupDimension | undefined;
  /** Both in milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** The attempts that began within an interval, of one group. */
export interface MetricsPoint {
  /** When the interval begins. Milliseconds since the Unix epoch. */
  readonly start: number;
  /** A webhook's id, a type or an outcome; absent: all. */
  readonly value: string | undefined;
  readonly attempts: number;
  readonly delivered: number;
  readonly failed: number;
  /** Attempts after the first. */
  readonly retried: number;
  /** Deliveries whose last attempt it was, and failed. */
  readonly exhausted: number;
  /** How long they took, in milliseconds. Absent: there were none. */
  readonly p50: number | undefined;
  readonly p95: number | undefined;
  readonly p99: number | undefined;
  /** From the acceptance to the delivery, in milliseconds. Absent: none was delivered. */
  readonly lagP95: number | undefined;
}

export interface Metrics {
  /** By time, then by group. Those without attempts are left out. */
  readonly points: readonly MetricsPoint[];
  /**
   * A multiple of the interval. Or later: there was too much, and of events that were accepted before it
   * nothing is counted. Milliseconds since the Unix epoch.
   */
  readonly since: number;
  /** A multiple of the interval. */
  readonly until: number;
}

/** What of an account's attempts has moved to the history. */
export interface MovedAttempts {
  /** @throws AppError `history_unavailable`. */
  read(query: MovedRollupsQuery): Promise<MovedRollups>;
  /**
   * All attempts that began later are in Redis. `undefined`: that is not known. Milliseconds since the Unix
   * epoch.
   */
  reach(accountId: AccountId): Promise<number | undefined>;
}

export interface ReadMetricsContext {
  readonly recentAttempts: Pick<RecentAttempts, 'count' | 'read'>;
  /** Absent: there is no history. */
  readonly movedAttempts?: MovedAttempts | undefined;
  readonly clock: Clock;
}

export const MOST_POINTS = 2_000;
// Redis has no more than the last hours of most accounts.
const RECENT_INTERVAL = '1h';
const RECENT_MS = GRAIN_MS['1d'];
const DEFAULT_MS: Readonly<Record<RollupGrain, number>> = {
  '1m': GRAIN_MS['1d'],
  '5m': GRAIN_MS['1d'],
  '1h': GRAIN_MS['1d'],
  '1d': 30 * GRAIN_MS['1d'],
};

/**
 * Count the attempts of an account over time: without a history those of the last 24 hours, by the hour, from
 * what Redis has.
 *
 * @throws AppError `invalid_request` for more than 2,000 points, and for an interval that needs a history;
 *   `history_unavailable` when some of it has moved, and can't be read.
 */
export async function readMetrics(
  context: ReadMetricsContext,
  accountId: AccountId,
  query: MetricsQuery,
): Promise<Metrics> {
  return context.movedAttempts
    ? await readWhole(context, context.movedAttempts, accountId, query)
    : await readRecent(context, accountId, query);
}

async function readRecent(
  { recentAttempts, clock }: ReadMetricsContext,
  accountId: AccountId,
  { interval, groupBy, since = -Infinity, until = Infinity }: MetricsQuery,
): Promise<Metrics> {
  if (interval !== RECENT_INTERVAL) {
    const detail = `must be ${RECENT_INTERVAL}: this service keeps only what is recent; others need HISTORY_DATABASE_URL`;
    throw invalidRequest([{ pointer: '?/interval', detail }]);
  }
  const now = clock();
  const range = wholeIntervals(interval, Math.max(since, now - RECENT_MS), Math.min(until, now));
  const query = { accountId, grain: interval, dimension: groupBy ?? 'outcome', ...range };
  const { rollups, countedFrom = -Infinity } = await recentAttempts.count(query);
  const points = pointsOf(rollups, groupBy !== undefined);
  if (points.length > MOST_POINTS) throw tooManyPoints({ interval, count: points.length });
  return { points, since: Math.max(range.since, countedFrom), until: range.until };
}

function wholeIntervals(interval: RollupGrain, since: number, until: number): Range {
  const lengthMs = GRAIN_MS[interval];
  return { since: Math.floor(since / lengthMs) * lengthMs, until: Math.ceil(until / lengthMs) * lengthMs };
}

interface Range {
  readonly since: number;
  readonly until: number;
}

// What moves is in the history before it leaves Redis, so Redis is read first. What is in both counts as the
// mover would write it.
async function readWhole(
  { recentAttempts, clock }: ReadMetricsContext,
  movedAttempts: MovedAttempts,
  accountId: AccountId,
  { interval, groupBy, ...given }: MetricsQuery,
): Promise<Metrics> {
  const until = Math.min(given.until ?? Infinity, clock());
  const since = given.since ?? until - DEFAULT_MS[interval];
  const range = wholeIntervals(interval, since, until);
  if (range.since >= range.until) return { points: [], ...range };
  const isTooLong = (grain: RollupGrain) => {
    const times = wholeIntervals(grain, since, until);
    return times.until - times.since > MOST_POINTS * GRAIN_MS[grain];
  };
  const longer = rollupGrains.slice(rollupGrains.indexOf(interval) + 1);
  if (groupBy === undefined && isTooLong(interval)) {
    throw tooManyPoints({ interval, fitting: longer.find((grain) => !isTooLong(grain)) });
  }

  const recent = await recentAttempts.read(accountId);
  const reach = await movedAttempts.reach(accountId);

  /** Gives `undefined` if there are too many. */
  const read = async (grain: RollupGrain): Promise<readonly MetricsPoint[] | undefined> => {
    if (isTooLong(grain)) return undefined;
    const times = wholeIntervals(grain, since, until);
    const query = { accountId, grain, dimension: groupBy ?? 'outcome', ...times } as const;
    const hasMoved = reach === undefined || times.since <= reach;
    const moved = hasMoved
      ? await movedAttempts.read({ ...query, limit: mostRollups(groupBy), recent })
      : NOTHING_MOVED;
    const tally = new RollupTally(query);
    for (const [i, delivery] of recent.entries()) addRecent(tally, delivery, moved.logs[i]);
    const points = pointsOf([...moved.rollups, ...tally.rollups()], groupBy !== undefined);
    return points.length > MOST_POINTS ? undefined : points;
  };

  const points = await read(interval);
  if (points) return { points, ...range };
  for (const grain of longer) {
    if (await read(grain)) throw tooManyPoints({ interval, fitting: grain });
  }
  throw tooManyPoints({ interval });
}

const NOTHING_MOVED: MovedRollups = { rollups: [], logs: [] };

/** With groups, each rollup is a point; without, each outcome of a time is one. */
function mostRollups(groupBy: RollupDimension | undefined): number {
  return groupBy === undefined ? MOST_POINTS * attemptOutcomes.length : MOST_POINTS + 1;
}

function addRecent(tally: RollupTally, delivery: RecentDelivery, moved: string | undefined): void {
  if (moved === undefined) return tally.add(delivery, delivery.log);
  tally.add(delivery, moved, -1);
  tally.add(delivery, mergeLogs(moved, delivery.log));
}

interface TooManyPoints {
  readonly interval: RollupGrain;
  readonly count?: number;
  /** A longer interval that has few enough. */
  readonly fitting?: RollupGrain | undefined;
}

function tooManyPoints({ interval, count, fitting }: TooManyPoints): AppError {
  const number = count ?? `more than ${MOST_POINTS}`;
  const many = `by ${interval} these are ${number} points, and at most ${MOST_POINTS} are given`;
  return fitting === undefined
    ? invalidRequest([{ pointer: '?/since', detail: `must be closer to until: ${many}; no interval fits` }])
    : invalidRequest([{ pointer: '?/interval', detail: `must be longer: ${many}; ${fitting} fits` }]);
}

/** Add up what has the same start, and the same value if they are in groups. What cancels out is left out. */
function pointsOf(rollups: readonly Rollup[], isGrouped: boolean): readonly MetricsPoint[] {
  const sums = new Map<string, Rollup[]>();
  for (const rollup of rollups) {
    const name = isGrouped ? `${rollup.start} ${rollup.value}` : String(rollup.start);
    const known = sums.get(name);
    if (known) known.push(rollup);
    else sums.set(name, [rollup]);
  }
  const points = [...sums.values()].map((some) => pointOf(some, isGrouped));
  return points.filter(({ attempts }) => attempts > 0).toSorted(byStartAndValue);
}

function byStartAndValue(a: MetricsPoint, b: MetricsPoint): number {
  return a.start - b.start || ((a.value ?? '') < (b.value ?? '') ? -1 : 1);
}

function pointOf(rollups: readonly Rollup[], isGrouped: boolean): MetricsPoint {
  const [first] = rollups;
  const sumOf = (name: 'attempts' | 'delivered' | 'retried' | 'exhausted') =>
    rollups.reduce((sum, rollup) => sum + rollup[name], 0);
  const [attempts, delivered] = [sumOf('attempts'), sumOf('delivered')];
  const durations = rollups.map((rollup) => rollup.durations);
  const [p50, p95, p99] = percentilesOf(durations, [0.5, 0.95, 0.99]);
  const lags = rollups.map((rollup) => rollup.lags);
  const [lagP95] = percentilesOf(lags, [0.95]);
  return {
    start: first?.start ?? 0,
    value: isGrouped ? first?.value : undefined,
    attempts,
    delivered,
    failed: attempts - delivered,
    retried: sumOf('retried'),
    exhausted: sumOf('exhausted'),
    p50,
    p95,
    p99,
    lagP95,
  };
}
