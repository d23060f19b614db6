import type { Attempt } from './attempt';
import type { RequestTrigger } from './trigger';

/** What can happen to a delivery. */
export type DeliveryFact =
  | {
      readonly kind: 'attempted';
      readonly attempt: Attempt;
      readonly nextAttemptAt: number | undefined;
      /** Whether the receiver asked not to be sent it again. */
      readonly isAborted?: boolean;
    }
  | { readonly kind: 'cancelled'; readonly reason: string }
  | RequestedFact;

/** Somebody asked for it to be sent, apart from its schedule. */
export interface RequestedFact {
  readonly kind: 'requested';
  /** The same when the same request is worked on again. */
  readonly requestId: string;
  readonly trigger: RequestTrigger;
  /** Milliseconds since the Unix epoch. */
  readonly requestedAt: number;
}
