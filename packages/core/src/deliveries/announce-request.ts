import type { Emit } from '../signals/signals';
import { type DeliveryParts, deliveryIdOf } from './delivery-id';
import type { RequestTrigger } from './trigger';

/** Says that somebody has asked for a delivery to be sent. */
export function announceRequest(
  emit: Emit,
  { endpointId, eventId }: DeliveryParts,
  trigger: RequestTrigger,
): void {
  const deliveryId = deliveryIdOf({ endpointId, eventId });
  emit({ name: 'delivery.requested', deliveryId, endpointId, eventId, trigger });
}
