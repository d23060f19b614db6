import type { DeliveryStatus } from '../model/delivery-log';
import { parseRetryAfter } from './judge-result';
import { decideRetry, type RetryDecision, type RetrySchedule } from './retry-policy';
import type { SentAttempt } from './send-attempt';

/** What becomes of a delivery after an attempt. */
export type Decision =
  | RetryDecision
  | { readonly kind: 'delivered' }
  | { readonly kind: 'aborted' }
  /** It was requested once more and failed; it had been delivered before. */
  | { readonly kind: 'stays_delivered' };

/** The delivery's status that follows from it. */
export function statusAfter({ kind }: Decision): DeliveryStatus {
  switch (kind) {
    case 'retry':
      return 'pending';
    case 'stays_delivered':
      return 'delivered';
    case 'delivered':
    case 'aborted':
    case 'exhausted':
      return kind;
  }
}

export interface DecideNextInput {
  readonly sent: SentAttempt;
  /** Which attempt of the schedule this was: 1, 2, … */
  readonly scheduledAttempt: number;
  /** Whether it had been delivered before. */
  readonly wasDelivered: boolean;
  readonly schedule: RetrySchedule;
  /** The present, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** From 0 up to, not including, 1. */
  readonly random: number;
}

/** Delivered is delivered; otherwise the receiver's wish goes before the schedule. */
export function decideNext(input: DecideNextInput): Decision {
  const { sent, scheduledAttempt, wasDelivered, schedule, now, random } = input;
  const { attempt, wish, retryAfter } = sent;
  if (attempt.outcome === 'delivered') return { kind: 'delivered' };
  if (wasDelivered) return { kind: 'stays_delivered' };
  if (wish.aborts) return { kind: 'aborted' };
  const retryAfterMs = parseRetryAfter(retryAfter, now);
  return decideRetry({ schedule, attempt: scheduledAttempt, retryAfterMs, random });
}
