import { type AttemptOutcome, isAboutReceiver } from '../domain/attempt';
import type { DeliveryParts } from '../domain/delivery';
import { type AttemptedFact, linesToAppend } from '../domain/delivery-fact';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { LogLength } from '../events/redis-delivery-store';
import type { Retention } from '../events/redis-event-index';
import { mapReply } from '../platform/redis-atomic';
import type { Guard } from '../platform/redis-lua';
import {
  type RecordAttemptInput,
  type RecordAttemptReply,
  recordAttempt,
  recordOthers,
} from './redis-attempt-store.script';

export interface AttemptRecord {
  readonly delivery: DeliveryParts;
  readonly fact: AttemptedFact;
  /** The length of the log when the attempt was prepared. */
  readonly logLength: LogLength;
  /**
   * When the event was accepted: the delivery's position in its endpoint's list. Milliseconds since the Unix
   * epoch.
   */
  readonly acceptedAt: number;
  /** Until when the breaker was open at the attempt's admission; 0 if it was closed. */
  readonly openUntil: number;
  /** Whether the record of another attempt, of the same request, already has the result for the receiver. */
  readonly isRepresented?: boolean;
  /** The key that counts it for the rate limit, if there is one. */
  readonly attemptKey: string | undefined;
  /** Whether the account is told that its endpoint fails. */
  readonly notifiesOfFailing: boolean;
  /** Whether a delivery without a log is recorded only if its endpoint's list has it. */
  readonly mustBeListed?: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/** The result of one request for the others of its deliveries. The record of the representative has the result for the receiver. */
export interface OtherRecords {
  readonly endpointId: EndpointId;
  readonly records: readonly SharedRecord[];
  /** The keys that count them for the rate limit, where that counts events. */
  readonly attemptKeys: readonly string[];
  /** As for a single one. */
  readonly mustBeListed: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/** The same attempt of some deliveries. */
export interface SharedRecord extends Pick<AttemptRecord, 'fact' | 'logLength'> {
  readonly deliveries: readonly { readonly eventId: EventId; readonly acceptedAt: number }[];
}

/** The effect of a recorded attempt on its endpoint. */
export type AttemptEffect = RecordAttemptReply;

/** Records attempts, with all their effects on the endpoint. */
export class AttemptStore {
  constructor(private readonly retention: Retention) {}

  /**
   * `undefined`, and nothing is recorded, when the log has changed. A guard: what comes after it runs only if
   * the attempt is recorded.
   */
  record(attempt: AttemptRecord): Guard<AttemptEffect | undefined> {
    const { delivery, fact, attemptKey } = attempt;
    const [line, shortLine] = linesToAppend(fact);
    return recordAttempt({
      endpoint: delivery.endpointId,
      event: delivery.eventId,
      logLength: attempt.logLength,
      line,
      shortLine,
      keptMs: this.retention.ageMs,
      acceptedAt: attempt.acceptedAt,
      verdict: attempt.isRepresented ? 'says_nothing' : verdictOf(fact.attempt.outcome),
      now: attempt.now,
      wasOpenUntil: attempt.openUntil,
      notifiesOfFailing: attempt.notifiesOfFailing,
      attempt: attemptKey,
      mustBeListed: attempt.mustBeListed === true,
    });
  }

  /**
   * Record the attempts of the others of a request, beside the record of its representative: all of them, or none. A guard.
   *
   * @returns the events whose logs have changed. If there are none, all are recorded.
   */
  recordOthers(others: OtherRecords): Guard<readonly EventId[]> {
    const events: EventId[] = [];
    const acceptedAt: number[] = [];
    for (const { deliveries } of others.records) {
      for (const delivery of deliveries) {
        events.push(delivery.eventId);
        acceptedAt.push(delivery.acceptedAt);
      }
    }
    const step = recordOthers({
      endpoint: others.endpointId,
      keptMs: this.retention.ageMs,
      now: others.now,
      mustBeListed: others.mustBeListed,
      attempts: others.attemptKeys,
      events,
      acceptedAt,
      lines: others.records.map(lineOf),
    });
    return mapReply(step, (reply) => reply?.changed ?? []);
  }
}

function lineOf({ fact, logLength, deliveries }: SharedRecord) {
  const [line, shortLine] = linesToAppend(fact);
  return { logLength, line, shortLine, count: deliveries.length };
}

function verdictOf(outcome: AttemptOutcome): RecordAttemptInput['verdict'] {
  if (!isAboutReceiver(outcome)) return 'says_nothing';
  return outcome === 'delivered' ? 'success' : 'failure';
}
