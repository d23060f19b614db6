import type { AttemptedFact } from '../deliveries/delivery-fact';
import type { DeliveryParts } from '../deliveries/delivery-id';
import type { DeliveryStatus } from '../deliveries/delivery-log';
import type { AccountId } from '../events/event';

/** An attempt on its way to the archive. */
export interface ArchiveRecord extends DeliveryParts {
  readonly accountId: AccountId;
  readonly type: string;
  /** When its event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** The delivery's, after this attempt. */
  readonly status: DeliveryStatus;
  /** As it is in the delivery's log. */
  readonly fact: AttemptedFact;
}
