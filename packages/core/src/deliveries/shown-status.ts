import type { ParkedStore } from '../gates/redis-parked-store';
import type { ShownStatus } from './delivery-filter';
import type { DeliveryParts } from './delivery-id';
import type { DeliveryStatus } from './delivery-log';

/** A delivery's status as clients see it: one that is pending may be held. */
export async function shownStatusOf(
  parkedStore: Pick<ParkedStore, 'isParked'>,
  { endpointId, eventId }: DeliveryParts,
  status: DeliveryStatus,
): Promise<ShownStatus> {
  if (status !== 'pending') return status;
  return (await parkedStore.isParked(endpointId, eventId)) ? 'held' : 'pending';
}
