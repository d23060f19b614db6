import type { AttemptOutcome } from '../../domain/attempt';
import type { EventId } from '../../domain/event';

/** The attempts at an endpoint within one hour of the clock. */
export interface HourOfAttempts {
  /** Hours since the Unix epoch. */
  readonly hour: number;
  readonly successes: number;
  readonly failures: number;
  /** Their durations. */
  readonly durations: DurationCounts;
}

/** The sums of an endpoint's attempts. Times are milliseconds since the Unix epoch. */
export interface AttemptTally {
  readonly hours: readonly HourOfAttempts[];
  readonly lastSuccessAt: number | undefined;
  readonly lastFailure: LastFailure | undefined;
}

/** An attempt that failed. */
export interface FailedAttempt {
  readonly eventId: EventId;
  /** 1, 2, … */
  readonly number: number;
  readonly outcome: AttemptOutcome;
  /** Of the response; absent: there was none. */
  readonly status?: number | undefined;
}

/** The newest failure of an endpoint. */
export interface LastFailure {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Absent: a process of an older version has recorded it. */
  readonly attempt?: FailedAttempt | undefined;
}

/** An attempt that has ended. */
export interface EndedAttempt {
  /** Absent: it was accepted. */
  readonly failed?: FailedAttempt | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly durationMs: number;
}

/** The statistics of an hour. */
export interface RecentHour {
  /** When it began. Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly successes: number;
  readonly failures: number;
  /** The 95th percentile of the durations; `undefined` where it is not known. */
  readonly p95Ms: number | undefined;
}

export interface RecentAttempts {
  readonly attempts: number;
  /** From 0 to 1; `undefined` when there were no attempts. */
  readonly successRate: number | undefined;
  readonly p95Ms: number | undefined;
  /** All of them, the oldest first. */
  readonly hours: readonly RecentHour[];
}

/** Where an endpoint's record has what is not of one hour. */
export const healthFields = {
  lastSuccess: 'last-success',
  lastFailure: 'last-failure',
  /** Which attempt that was: see `encodeFailure`. Beside the time, which older versions read as a number. */
  lastFailed: 'last-failed',
  /** Workers' limits: `worker:limit:when` of each. */
  limits: 'limits',
};

export const HOUR_MS = 3_600_000;
/** Whole hours, the present one included: between 23 and 24 hours. */
export const HOURS_KEPT = 24;
const SHOWN_SHARE = 0.95;

export function hourOf(epochMs: number): number {
  return Math.floor(epochMs / HOUR_MS);
}

/** The oldest hour that still counts. */
export function firstHourKept(now: number): number {
  return hourOf(now) - HOURS_KEPT + 1;
}

/** @param times of how many deliveries it was the attempt. */
export function tallyOf({ failed, at, durationMs }: EndedAttempt, times = 1): AttemptTally {
  const hour = { hour: hourOf(at), durations: countDuration(durationMs, times) };
  if (failed === undefined) {
    return { hours: [{ successes: times, failures: 0, ...hour }], lastSuccessAt: at, lastFailure: undefined };
  }
  const lastFailure = { at, attempt: failed };
  return { hours: [{ successes: 0, failures: times, ...hour }], lastSuccessAt: undefined, lastFailure };
}

export function addTallies(a: AttemptTally, b: AttemptTally): AttemptTally {
  return {
    hours: addHours(a.hours, b.hours),
    lastSuccessAt: later(a.lastSuccessAt, b.lastSuccessAt),
    lastFailure: (a.lastFailure?.at ?? 0) > (b.lastFailure?.at ?? 0) ? a.lastFailure : b.lastFailure,
  };
}

export function recentAttempts({ hours }: AttemptTally, now: number): RecentAttempts {
  const byHour = new Map(hours.map((each) => [each.hour, each]));
  const first = firstHourKept(now);
  const recent = Array.from({ length: HOURS_KEPT }, (_, i) => byHour.get(first + i) ?? emptyHour(first + i));
  const successes = recent.reduce((sum, each) => sum + each.successes, 0);
  const attempts = recent.reduce((sum, each) => sum + each.failures, successes);
  const durations = recent.map((each) => each.durations).filter(isKnown);
  return {
    attempts,
    successRate: attempts === 0 ? undefined : successes / attempts,
    p95Ms: percentileOf(durations.reduce(addDurations, NO_DURATIONS), SHOWN_SHARE),
    hours: recent.map((each) => ({
      at: each.hour * HOUR_MS,
      successes: each.successes,
      failures: each.failures,
      p95Ms: isKnown(each.durations) ? percentileOf(each.durations, SHOWN_SHARE) : undefined,
    })),
  };
}

function addHours(a: readonly HourOfAttempts[], b: readonly HourOfAttempts[]): HourOfAttempts[] {
  const byHour = new Map(a.map((each) => [each.hour, each]));
  for (const { hour, successes, failures, durations } of b) {
    const known = byHour.get(hour);
    byHour.set(hour, {
      hour,
      successes: successes + (known?.successes ?? 0),
      failures: failures + (known?.failures ?? 0),
      durations: known ? addDurations(known.durations, durations) : durations,
    });
  }
  return [...byHour.values()];
}

// Most hours of most endpoints have no durations, and a page has thousands of hours.
function isKnown(durations: DurationCounts): boolean {
  return durations !== NO_DURATIONS;
}

function emptyHour(hour: number): HourOfAttempts {
  return { hour, successes: 0, failures: 0, durations: NO_DURATIONS };
}

function later(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}

/** The time, so that it is known to be of the failure at that time, and the attempt: `at number outcome status event`. */
export function encodeFailure({ at, attempt }: LastFailure): string | undefined {
  if (attempt === undefined) return undefined;
  const { number, outcome, status = 0, eventId } = attempt;
  return [at, number, outcome, status, eventId].join(' ');
}

/** @param time of the last failure, @param text of the last one whose attempt is known; as stored. */
export function decodeFailure(time: string | undefined, text = ''): LastFailure | undefined {
  if (time === undefined) return undefined;
  const [at, number, outcome, status, eventId] = text.split(' ');
  if (at !== time) return { at: Number(time) };
  const attempt = {
    eventId: eventId as EventId,
    number: Number(number),
    outcome: outcome as AttemptOutcome,
    ...(status === '0' ? {} : { status: Number(status) }),
  };
  return { at: Number(time), attempt };
}

/**
 * Counts of attempts by duration, in buckets that grow by a quarter (three to a doubling): enough for a
 * percentile to within an eighth, and few enough to keep for each hour. The first is below a millisecond, the
 * last has no end.
 */
export type DurationCounts = readonly number[];

/** One bucket for each letter of the stored form: up to two minutes. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const BUCKETS_TO_A_DOUBLING = 3;

export const NO_DURATIONS: DurationCounts = LETTERS.split('').map(() => 0);

export function countDuration(durationMs: number, times = 1): DurationCounts {
  return NO_DURATIONS.with(bucketOf(durationMs), times);
}

export function addDurations(a: DurationCounts, b: DurationCounts): DurationCounts {
  return a.map((count, bucket) => count + (b[bucket] ?? 0));
}

/**
 * The duration that this share of the attempts did not exceed, in milliseconds, to within an eighth.
 *
 * @param share between 0 and 1.
 * @returns `undefined` when none was counted.
 */
export function percentileOf(counts: DurationCounts, share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let left = share * total;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && left <= count) return middleOf(bucket);
    left -= count;
  }
  return undefined;
}

/** The counts above 0: the letter of each bucket, and its count. */
export function encodeDurations(counts: DurationCounts): string {
  let text = '';
  for (const [bucket, count] of counts.entries()) if (count > 0) text += LETTERS.charAt(bucket) + count;
  return text;
}

export function decodeDurations(text: string): DurationCounts {
  if (text === '') return NO_DURATIONS;
  const counts = [...NO_DURATIONS];
  for (const [, letter = '', count] of text.matchAll(/([a-zA-Z])(\d+)/g)) {
    counts[LETTERS.indexOf(letter)] = Number(count);
  }
  return counts;
}

function bucketOf(durationMs: number): number {
  if (durationMs < 1) return 0;
  const bucket = 1 + Math.floor(BUCKETS_TO_A_DOUBLING * Math.log2(durationMs));
  return Math.min(bucket, NO_DURATIONS.length - 1);
}

function middleOf(bucket: number): number {
  return 2 ** ((bucket - 0.5) / BUCKETS_TO_A_DOUBLING);
}
