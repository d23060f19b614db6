import { parseRetryAfter } from './retry-after';
import { decideRetry, type RetryDecision, type RetrySchedule } from './retry-policy';
import type { SentAttempt } from './send-attempt';

/** What becomes of a delivery after an attempt. */
export type Decision = RetryDecision | { readonly kind: 'delivered' } | { readonly kind: 'aborted' };

export interface DecideNextInput {
  readonly sent: SentAttempt;
  readonly schedule: RetrySchedule;
  /** The present, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** From 0 up to, not including, 1. */
  readonly random: number;
}

/** Delivered is delivered; otherwise the receiver's wish goes before the schedule. */
export function decideNext({ sent, schedule, now, random }: DecideNextInput): Decision {
  const { attempt, wish, retryAfter } = sent;
  if (attempt.outcome === 'delivered') return { kind: 'delivered' };
  if (wish.aborts) return { kind: 'aborted' };
  const retryAfterMs = parseRetryAfter(retryAfter, now);
  return decideRetry({ schedule, attempt: attempt.number, retryAfterMs, random });
}
