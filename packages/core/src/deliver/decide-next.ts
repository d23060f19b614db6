import { mostJitterOf, type RetrySchedule } from '../domain/retry-schedule';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { parseRetryAfter } from './retry-after';
import type { SentAttempt } from './send-attempt';

/** The state of a delivery after an attempt. */
export type Decision =
  | RetryDecision
  | { readonly kind: 'delivered' }
  | { readonly kind: 'aborted' }
  /** It had been delivered before, was sent once more on request, and failed. */
  | { readonly kind: 'stays_delivered' };

/**
 * Decide what follows an attempt. A delivered delivery stays delivered. Otherwise the receiver may end it
 * (abort), or put off the next attempt (Retry-After); the schedule says whether there is a next one.
 *
 * @param share of the jitter, from 0 up to, not including, 1. Absent: at random.
 */
export function decideNext(
  parts: AttemptParts,
  ready: ReadyDelivery,
  sent: SentAttempt,
  share?: number,
): Decision {
  const { attempt, wish, retryAfter } = sent;
  if (attempt.outcome === 'delivered') return { kind: 'delivered' };
  if (ready.wasDelivered) return { kind: 'stays_delivered' };
  if (wish.aborts) return { kind: 'aborted' };
  const now = parts.clock();
  const decision = decideRetry({
    schedule: ready.endpoint.retrySchedule ?? parts.retrySchedule,
    attempt: ready.scheduledAttempt,
    retryAfterMs: parseRetryAfter(retryAfter, now),
    random: share ?? parts.random(),
  });
  // Its end must not be seen later than it is over.
  return decision.kind === 'retry'
    ? { kind: 'retry', delayMs: Math.min(decision.delayMs, Math.max(ready.openUntil - now, 0)) }
    : decision;
}

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'exhausted' };

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
  const jitterMs = mostJitterOf(scheduledMs) * random;
  return { kind: 'retry', delayMs: Math.max(Math.round(scheduledMs + jitterMs), retryAfterMs) };
}
