import type { Attempt } from '../domain/attempt';
import type { EventId } from '../domain/event';
import { parsedOrUndefined } from '../platform/json';
import { type Decision, decideNext } from './decide-next';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { holdsOf, type SentAttempt } from './send-attempt';

/** A delivery that goes together with others. */
export interface Mate {
  readonly ready: ReadyDelivery;
  /** The key that counts it for the rate limit, where that counts events. */
  readonly attemptKey: string | undefined;
}

/** The result of the request for one of its deliveries. */
export interface End {
  readonly member: Mate;
  readonly sent: SentAttempt;
  readonly decision: Decision;
}

// The part that each attempt records, as of any response.
const KEPT_CHARACTERS = 1_024;

/**
 * Read the one response for each delivery of its request, and decide the next step of each. First come those with the outcome
 * of the request itself: only the record of the first one updates the state of the receiver.
 */
export function readBatchResponse(
  parts: AttemptParts,
  members: readonly Mate[],
  sent: SentAttempt,
  batchId: EventId,
): readonly End[] {
  const rejected = sent.attempt.outcome === 'delivered' ? rejectedIn(sent.attempt) : NONE;
  // So that all of them are due at the same time.
  const share = shareOf(batchId);
  // Most of them are equal.
  const known = new Map<string, Omit<End, 'member'>>();
  const ends = members.map((member): End => {
    const { ready } = member;
    const isRejected = rejected.has(ready.event.id);
    const kind = kindOf(ready, isRejected);
    let end = known.get(kind);
    if (end === undefined) {
      const own = attemptOf(ready, sent, batchId, isRejected);
      end = { sent: own, decision: decideNext(parts, ready, own, share) };
      known.set(kind, end);
    }
    return { member, ...end };
  });
  const saysIt = ({ sent: { attempt } }: End) => Number(attempt.outcome === sent.attempt.outcome);
  return ends.toSorted((a, b) => saysIt(b) - saysIt(a));
}

/** From 0 up to, not including, 1: the same for each retry. */
function shareOf(batchId: EventId): number {
  return Number.parseInt(batchId.slice(-8), 16) / 0x100000000;
}

const NONE: ReadonlySet<unknown> = new Set();

/** The events that the receiver did not take, by the `failed` of its response. */
function rejectedIn({ responseBody = '' }: Attempt): ReadonlySet<unknown> {
  const response = parsedOrUndefined(responseBody);
  if (typeof response !== 'object' || response === null || !('failed' in response)) return NONE;
  return Array.isArray(response.failed) ? new Set(response.failed) : NONE;
}

/** All facts that decide an attempt of a delivery in this request, and its next step. */
function kindOf(
  { event, roundNumber, attemptNumber, scheduledAttempt, wasDelivered, trigger, transformed }: ReadyDelivery,
  isRejected: boolean,
): string {
  const numbers = [roundNumber, attemptNumber, scheduledAttempt];
  const facts = [event.type, ...numbers, wasDelivered, trigger, transformed?.version];
  return `${facts.join(' ')} ${isRejected}`;
}

/** What the request was for one of its deliveries. */
function attemptOf(
  ready: ReadyDelivery,
  sent: SentAttempt,
  batchId: EventId,
  isRejected: boolean,
): SentAttempt {
  const { attemptNumber, trigger, transformed } = ready;
  const { attempt } = sent;
  const own: Attempt = {
    ...attempt,
    holds: holdsOf(ready, attempt.startedAt),
    number: attemptNumber,
    trigger: trigger === 'schedule' ? undefined : trigger,
    outcome: isRejected ? 'rejected_in_batch' : attempt.outcome,
    responseBody: attempt.responseBody?.slice(0, KEPT_CHARACTERS),
    transformed,
    batchId,
  };
  return { ...sent, attempt: own };
}
