import { HOURS_KEPT, hourOf } from '../endpoints/health/attempt-tally';
import type { HourCounts } from '../endpoints/health/redis-health-store';

/** When so few attempts succeed that contacts are told. */
export interface RatePolicy {
  /** A share, from 0 (never) to 1. */
  readonly below: number;
  /** For how long it must be so. */
  readonly forMs: number;
}

/** An endpoint's attempts as of one reading, and since when too few of them succeed. */
export interface RateState {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Within the hour of `at`, until then. */
  readonly successes: number;
  readonly failures: number;
  /** Absent: enough succeed. Milliseconds since the Unix epoch. */
  readonly lowSince?: number;
  /** Since then. */
  readonly attempts?: number;
}

/** An endpoint is checked so often within the time for which it must be so. */
const PARTS = 5;
/** Fewer attempts prove nothing. */
export const LEAST_ATTEMPTS = 10;

export function checkedEveryMs({ forMs }: RatePolicy): number {
  return forMs / PARTS;
}

/** The hours whose counts `followRate` needs. */
export function hoursToRead(former: RateState | undefined, now: number): readonly number[] {
  const first = former && hourOf(now) - hourOf(former.at) < HOURS_KEPT ? hourOf(former.at) : hourOf(now);
  return Array.from({ length: hourOf(now) - first + 1 }, (_, each) => first + each);
}

/**
 * The next reading. A part in which too few attempts succeed goes on with the parts before it, one in which enough do
 * ends them, and one without attempts says nothing.
 *
 * @param counts of `hoursToRead`.
 * @returns `undefined`: there is nothing to remember, since nothing has failed lately.
 */
export function followRate(
  former: RateState | undefined,
  counts: readonly HourCounts[],
  now: number,
  { below }: RatePolicy,
): RateState | undefined {
  const { successes, failures } = counts.find(({ hour }) => hour === hourOf(now)) ?? NONE;
  const reading = failures === 0 ? undefined : { at: now, successes, failures };
  if (!former || !counts.some(({ hour }) => hour === hourOf(former.at))) return reading;
  const succeeded = sumOf(counts, 'successes') - former.successes;
  const attempts = succeeded + sumOf(counts, 'failures') - former.failures;
  if (attempts <= 0) return former.lowSince === undefined ? reading : former;
  if (succeeded >= below * attempts) return reading;
  const { lowSince = former.at, attempts: before = 0 } = former;
  return { at: now, successes, failures, lowSince, attempts: before + attempts };
}

/** Whether it has been so for long enough. Only a reading with attempts counts: a silent endpoint proves nothing. */
export function isLastingLow({ at, lowSince, attempts = 0 }: RateState, { forMs }: RatePolicy): boolean {
  return lowSince !== undefined && at - lowSince >= forMs && attempts >= LEAST_ATTEMPTS;
}

export function encodeRate({ at, successes, failures, lowSince, attempts }: RateState): string {
  const low = lowSince === undefined ? [] : [lowSince, attempts];
  return [at, successes, failures, ...low].join(' ');
}

export function decodeRate(text: string): RateState {
  const [at = 0, successes = 0, failures = 0, lowSince, attempts] = text.split(' ').map(Number);
  return {
    ...{ at, successes, failures },
    ...(lowSince === undefined || attempts === undefined ? {} : { lowSince, attempts }),
  };
}

const NONE = { successes: 0, failures: 0 };

function sumOf(counts: readonly HourCounts[], kind: 'successes' | 'failures'): number {
  return counts.reduce((sum, each) => sum + each[kind], 0);
}
