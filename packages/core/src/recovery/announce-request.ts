import { type DeliveryParts, deliveryIdOf } from '../model/delivery-id';
import type { Emit } from '../model/signals';
import type { RequestTrigger } from '../model/trigger';

/** Says that somebody has asked for a delivery to be sent. */
export function announceRequest(
  emit: Emit,
  { endpointId, eventId }: DeliveryParts,
  trigger: RequestTrigger,
): void {
  const deliveryId = deliveryIdOf({ endpointId, eventId });
  emit({ name: 'delivery.requested', deliveryId, endpointId, eventId, trigger });
}
