/** The delays between attempts, in milliseconds: attempts = entries + 1. */
export type RetrySchedule = readonly number[];

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'exhausted' };

const JITTER_SHARE = 0.1;
const MAX_JITTER_MS = 15 * 60_000;

export interface RetryInput {
  readonly schedule: RetrySchedule;
  /** The attempt that has just failed: 1, 2, … */
  readonly attempt: number;
  /** What the receiver asked for; 0 when it asked for nothing. */
  readonly retryAfterMs: number;
  /** From 0 up to, not including, 1. */
  readonly random: number;
}

/**
 * When a failed delivery is tried again: after the schedule's delay plus a jitter of up to 10 % (15 minutes at
 * most; never less than scheduled), or after the time that the receiver asked for, whichever is later.
 */
export function decideRetry({ schedule, attempt, retryAfterMs, random }: RetryInput): RetryDecision {
  const scheduledMs = schedule[attempt - 1];
  if (scheduledMs === undefined) return { kind: 'exhausted' };
  const jitterMs = Math.min(scheduledMs * JITTER_SHARE, MAX_JITTER_MS) * random;
  return { kind: 'retry', delayMs: Math.max(Math.round(scheduledMs + jitterMs), retryAfterMs) };
}
