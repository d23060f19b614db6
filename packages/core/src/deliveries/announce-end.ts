import type { AcceptedEvent } from '../events/event';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import { type DeliveryParts, deliveryIdOf } from './delivery-id';
import type { EndStatus } from './delivery-log';

export interface AnnounceEndDeps {
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Says that a delivery has come to its end, and how long after its event's acceptance, if that is known. */
export function createAnnounceEnd({ clock, emit }: AnnounceEndDeps) {
  return function announceEnd(
    { eventId, endpointId }: DeliveryParts,
    status: EndStatus,
    event: AcceptedEvent | undefined,
  ): void {
    emit({
      name: 'delivery.ended',
      deliveryId: deliveryIdOf({ eventId, endpointId }),
      eventId,
      endpointId,
      status,
      lagMs: event === undefined ? 0 : clock() - event.acceptedAt,
    });
  };
}

export type AnnounceEnd = ReturnType<typeof createAnnounceEnd>;
