/** The delays between attempts, in milliseconds: attempts = entries + 1. */
export type RetrySchedule = readonly number[];

const JITTER_SHARE = 0.1;
const MAX_JITTER_MS = 15 * 60_000;

/** The longest jitter on a delay, in milliseconds: up to 10 % more, 15 minutes at most. */
export function mostJitterOf(delayMs: number): number {
  return Math.min(delayMs * JITTER_SHARE, MAX_JITTER_MS);
}

/** How long after the first attempt the last one may be due, in milliseconds. */
export function longestOf(schedule: RetrySchedule): number {
  return Math.ceil(schedule.reduce((sum, delayMs) => sum + delayMs + mostJitterOf(delayMs), 0));
}
