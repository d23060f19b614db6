import type { Attempt } from './attempt';
import type { RequestTrigger } from './delivery';

/** What can happen to a delivery. */
export type DeliveryFact =
  | AttemptedFact
  | { readonly kind: 'cancelled'; readonly reason: string }
  | RequestedFact;

export interface AttemptedFact {
  readonly kind: 'attempted';
  readonly attempt: Attempt;
  readonly nextAttemptAt: number | undefined;
  /** Whether the receiver asked not to be sent it again. */
  readonly isAborted?: boolean;
  /**
   * Whether another worker had gone on with the delivery before this could be recorded: it tells what was sent, and takes
   * nothing back of what is on record since. A success is one all the same.
   */
  readonly isLate?: boolean;
  /** Its event's type, once for each delivery: a list need not look at each of its events for that. */
  readonly eventType?: string;
}

/** Somebody asked for it to be sent, apart from its schedule. */
export interface RequestedFact {
  readonly kind: 'requested';
  /** The same when the same request is worked on again. */
  readonly requestId: string;
  readonly trigger: RequestTrigger;
  /** Milliseconds since the Unix epoch. */
  readonly requestedAt: number;
}
