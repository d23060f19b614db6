import { type AppError, invalidRequest } from '../platform/app-error';
import { GRAIN_MS, percentilesOf, type Rollup, type RollupGrain, rollupGrains } from './rollups';

/** How long each counted time is. `total`: all of it is one. */
export const metricsIntervals = [...rollupGrains, 'total'] as const;
export type MetricsInterval = (typeof metricsIntervals)[number];

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

/** How the points of one request are made of rollups. */
export interface PointShape {
  readonly isGrouped: boolean;
  /** When the one time begins that all are counted in. Absent: each has its own. */
  readonly start?: number | undefined;
}

/** The most points that are given at once. */
export const MOST_POINTS = 2_000;

/** From `since` on, and before `until`. Milliseconds since the Unix epoch. */
export interface Range {
  readonly since: number;
  readonly until: number;
}

/** Begin and end with the intervals that are touched. */
export function wholeIntervals(interval: RollupGrain, since: number, until: number): Range {
  const lengthMs = GRAIN_MS[interval];
  return { since: Math.floor(since / lengthMs) * lengthMs, until: Math.ceil(until / lengthMs) * lengthMs };
}

/** Add up what has the same start, and the same value if they are in groups. What cancels out is left out. */
export function pointsOf(
  rollups: readonly Rollup[],
  { isGrouped, start }: PointShape,
): readonly MetricsPoint[] {
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

interface TooManyPoints {
  readonly interval: MetricsInterval;
  readonly count?: number;
  /** A longer interval that has few enough. */
  readonly fitting?: RollupGrain | undefined;
}

export function tooManyPoints({ interval, count, fitting }: TooManyPoints): AppError {
  const number = count ?? `more than ${MOST_POINTS}`;
  const many = `by ${interval} these are ${number} points, and at most ${MOST_POINTS} are given`;
  return fitting === undefined
    ? invalidRequest([{ pointer: '?/since', detail: `must be closer to until: ${many}; no interval fits` }])
    : invalidRequest([{ pointer: '?/interval', detail: `must be longer: ${many}; ${fitting} fits` }]);
}
