import type { DeliveryParts } from '../model/delivery';
import type { DeliveryStatus } from '../model/delivery-log';
import type { EndpointId } from '../model/endpoint';
import type { EventId } from '../model/event';
import type { ShownStatus } from './delivery-filter';

/** Tells which deliveries are held. */
export interface HeldStatus {
  isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean>;
  /** Which of these are. */
  findHeld(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>>;
}

/** A delivery's status as clients see it: one that is pending may be held. */
export async function shownStatusOf(
  heldDeliveries: HeldStatus,
  { endpointId, eventId }: DeliveryParts,
  status: DeliveryStatus,
): Promise<ShownStatus> {
  if (status !== 'pending') return status;
  return (await heldDeliveries.isHeld(endpointId, eventId)) ? 'held' : 'pending';
}
