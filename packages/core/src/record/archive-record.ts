import type { DeliveryParts } from '../model/delivery';
import type { AttemptedFact } from '../model/delivery-fact';
import type { DeliveryStatus } from '../model/delivery-log';
import type { AccountId } from '../model/event';

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
