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

/** How long each counted time is. `total`: all of it is one. */
export const metricsIntervals = [...rollupGrains, 'total'] as const;
export type MetricsInterval = (typeof metricsIntervals)[number];

export interface OnlyOne {
  readonly dimension: RollupDimension;
  readonly value: string;
}

/** Which attempts to count, and how to group them. */
export interface MetricsQuery {
  readonly interval: MetricsInterval;
  /** Absent: all of a time together. */
  readonly groupBy?: RollupDimension | undefined;
  /** Of one webhook or type alone. If there is also `groupBy`, then by the same. */
  readonly only?: OnlyOne | undefined;
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
  readonly lagP50: number | undefined;
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

/** What the counts of one request are made of. */
interface Counted {
  readonly grain: RollupGrain;
  readonly dimension: RollupDimension;
  readonly value: string | undefined;
  readonly shape: PointShape;
}

interface PointShape {
  readonly isGrouped: boolean;
  /** When the one time begins that all are counted in. Absent: each has its own. */
  readonly start?: number | undefined;
}

export const MOST_POINTS = 2_000;
/** What a total is added up from. */
const MOST_ROLLUPS = 50_000;
// Redis has no more than the last hours of most accounts.
const RECENT_MS = GRAIN_MS['1d'];
const DEFAULT_MS: Readonly<Record<MetricsInterval, number>> = {
  total: GRAIN_MS['1d'],
  '1m': GRAIN_MS['1d'],
  '5m': GRAIN_MS['1d'],
  '1h': GRAIN_MS['1d'],
  '1d': 30 * GRAIN_MS['1d'],
};

/**
 * Count the attempts of an account over time: without a history those of the last 24 hours, from what Redis has.
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
  query: MetricsQuery,
): Promise<Metrics> {
  if (query.interval === '1d') {
    const detail =
      'must be shorter: days need HISTORY_DATABASE_URL, without which only recent attempts are kept';
    throw invalidRequest([{ pointer: '?/interval', detail }]);
  }
  const { range, ...counted } = countedOf(query, clock(), clock() - RECENT_MS);
  const { grain, dimension, value, shape } = counted;
  const { rollups, countedFrom = -Infinity } = await recentAttempts.count({
    accountId,
    ...{ grain, dimension, value, ...range },
  });
  const points = pointsOf(rollups, shape);
  if (points.length > MOST_POINTS) throw tooManyPoints({ interval: query.interval, count: points.length });
  return { points, since: Math.max(range.since, countedFrom), until: range.until };
}

function countedOf(
  { interval, groupBy, only, ...given }: MetricsQuery,
  now: number,
  earliest = -Infinity,
): Counted & { readonly range: Range } {
  const until = Math.min(given.until ?? Infinity, now);
  const since = Math.max(given.since ?? until - DEFAULT_MS[interval], earliest);
  const grain = interval === 'total' ? grainOfTotal(until - since) : interval;
  const range = wholeIntervals(grain, since, until);
  const dimension = groupBy ?? only?.dimension ?? 'outcome';
  const isGrouped = groupBy !== undefined;
  const shape = { isGrouped, ...(interval === 'total' && { start: range.since }) };
  return { grain, dimension, value: only?.value, shape, range };
}

// Fewer to add up the longer it is: of 500 webhooks these are 24,000 at most, or a month by the day.
function grainOfTotal(lengthMs: number): RollupGrain {
  if (lengthMs <= 4 * GRAIN_MS['1h']) return '5m';
  return lengthMs <= 2 * GRAIN_MS['1d'] ? '1h' : '1d';
}

/** Begin and end with the intervals that are touched. */
export function wholeIntervals(interval: RollupGrain, since: number, until: number): Range {
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
  query: MetricsQuery,
): Promise<Metrics> {
  const { interval } = query;
  const { range, dimension, value, shape, grain: first } = countedOf(query, clock());
  if (range.since >= range.until) return { points: [], ...range };
  const isTotal = shape.start !== undefined;
  const isTooLong = (grain: RollupGrain) => {
    const times = wholeIntervals(grain, range.since, range.until);
    return !isTotal && times.until - times.since > MOST_POINTS * GRAIN_MS[grain];
  };
  const longer = isTotal ? [] : rollupGrains.slice(rollupGrains.indexOf(first) + 1);
  if (!shape.isGrouped && isTooLong(first)) {
    throw tooManyPoints({ interval, fitting: longer.find((grain) => !isTooLong(grain)) });
  }

  const recent = await recentAttempts.read(accountId);
  const reach = await movedAttempts.reach(accountId);

  /** Gives `undefined` if there are too many. */
  const read = async (grain: RollupGrain): Promise<readonly MetricsPoint[] | undefined> => {
    if (isTooLong(grain)) return undefined;
    const times = wholeIntervals(grain, range.since, range.until);
    const wanted = { accountId, grain, dimension, value, ...times };
    const hasMoved = reach === undefined || times.since <= reach;
    const limit = mostRollups(shape);
    const moved = hasMoved ? await movedAttempts.read({ ...wanted, limit, recent }) : NOTHING_MOVED;
    if (isTotal && moved.rollups.length >= limit) return undefined;
    const tally = new RollupTally(wanted);
    for (const [i, delivery] of recent.entries()) addRecent(tally, delivery, moved.logs[i]);
    const points = pointsOf([...moved.rollups, ...tally.rollups()], shape);
    return points.length > MOST_POINTS ? undefined : points;
  };

  const points = await read(first);
  if (points) return { points, ...range };
  for (const grain of longer) {
    if (await read(grain)) throw tooManyPoints({ interval, fitting: grain });
  }
  throw tooManyPoints({ interval });
}

const NOTHING_MOVED: MovedRollups = { rollups: [], logs: [] };

/** With groups, each rollup is a point; without, each outcome of a time is one. */
function mostRollups({ isGrouped, start }: PointShape): number {
  if (start !== undefined) return MOST_ROLLUPS;
  return isGrouped ? MOST_POINTS + 1 : MOST_POINTS * attemptOutcomes.length;
}

function addRecent(tally: RollupTally, delivery: RecentDelivery, moved: string | undefined): void {
  if (moved === undefined) return tally.add(delivery, delivery.log);
  tally.add(delivery, moved, -1);
  tally.add(delivery, mergeLogs(moved, delivery.log));
}

interface TooManyPoints {
  readonly interval: MetricsInterval;
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
function pointsOf(rollups: readonly Rollup[], { isGrouped, start }: PointShape): readonly MetricsPoint[] {
  const sums = new Map<string, Rollup[]>();
  for (const counted of rollups) {
    const rollup = start === undefined ? counted : { ...counted, start };
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
  const [lagP50, lagP95] = percentilesOf(lags, [0.5, 0.95]);
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
    lagP50,
    lagP95,
  };
}
