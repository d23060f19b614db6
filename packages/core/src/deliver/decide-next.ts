import type { Clock } from '../platform/clock';
import type { ReadyDelivery } from './load-delivery';
import type { SentAttempt } from './send-attempt';

/** The state of a delivery after an attempt. */
export type Decision =
  | RetryDecision
  | { readonly kind: 'delivered' }
  | { readonly kind: 'aborted' }
  /** It was requested once more and failed. It had been delivered before. */
  | { readonly kind: 'stays_delivered' };

export interface DecideContext {
  /** For endpoints without a schedule of their own. */
  readonly retrySchedule: RetrySchedule;
  readonly clock: Clock;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
}

/**
 * Decide what follows an attempt. A delivered one stays delivered; otherwise the receiver's wish comes before
 * the schedule.
 */
export function decideNext(context: DecideContext, ready: ReadyDelivery, sent: SentAttempt): Decision {
  const { attempt, wish, retryAfter } = sent;
  if (attempt.outcome === 'delivered') return { kind: 'delivered' };
  if (ready.wasDelivered) return { kind: 'stays_delivered' };
  if (wish.aborts) return { kind: 'aborted' };
  return decideRetry({
    schedule: ready.endpoint.retrySchedule ?? context.retrySchedule,
    attempt: ready.scheduledAttempt,
    retryAfterMs: parseRetryAfter(retryAfter, context.clock()),
    random: context.random(),
  });
}

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
  /** The wait that the receiver asked for; 0 for none. */
  readonly retryAfterMs: number;
  /** From 0 up to, not including, 1. */
  readonly random: number;
}

/**
 * When a failed delivery is tried again: after the schedule's delay plus a jitter of up to 10 % (15 minutes
 * at most; never less than scheduled), or after the wait that the receiver asked for, whichever is later.
 */
export function decideRetry({ schedule, attempt, retryAfterMs, random }: RetryInput): RetryDecision {
  const scheduledMs = schedule[attempt - 1];
  if (scheduledMs === undefined) return { kind: 'exhausted' };
  const jitterMs = Math.min(scheduledMs * JITTER_SHARE, MAX_JITTER_MS) * random;
  return { kind: 'retry', delayMs: Math.max(Math.round(scheduledMs + jitterMs), retryAfterMs) };
}

/** Longer waits are cut to this: a receiver can slow deliveries down, not park an event for a year. */
export const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/**
 * The wait that a `Retry-After` header asks for (RFC 9110: seconds, or an HTTP date), in milliseconds, at
 * most 24 hours. 0 when it is absent, invalid or in the past.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const text = header.trim();
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(httpDate(text)) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}

// Date.parse accepts nearly anything as a date ("-5" is the year 2001); an HTTP date starts with a weekday.
// C's asctime form ends with the year and means GMT, which Date.parse would read as local time.
function httpDate(text: string): string {
  return /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? text.replace(/ \d{4}$/, '$& GMT') : '';
}
