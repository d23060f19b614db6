import type { AccountId } from './account';
import type { EndpointId } from './endpoint';
import type { EventHead, EventId } from './event';

/**
 * What has moved to the history stays readable in Redis for so long, in no list: longer than a script runs late, than a reader
 * reads, and than a claim of movers lasts.
 */
export const LAPSES_AFTER_MS = 60_000;

/** An event as it goes into the history, and as it comes back. */
export interface MovedEvent {
  readonly accountId: AccountId;
  readonly id: EventId;
  /** Its score in the lists. Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly head: Pick<
    EventHead,
    'type' | 'isAimed' | 'erasedAt' | 'trace' | 'schedule' | 'group' | 'requestId'
  >;
  /** The JSON text of its data, as it came. `undefined`: it was erased. */
  readonly dataText: string | undefined;
  /** How many days after its acceptance it leaves the history. */
  readonly keepDays: number;
  /** It is older than that: what is recorded of it, for longer, is brought up to date, and nothing is added. */
  readonly isExpired?: boolean;
  /** Those that have ended. The event may have others. */
  readonly deliveries: readonly MovedDelivery[];
}

export interface MovedDelivery {
  readonly endpointId: EndpointId;
  readonly log: string;
}
