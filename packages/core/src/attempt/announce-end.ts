import type { Clock } from '../kernel/clock';
import { type DeliveryParts, deliveryIdOf } from '../model/delivery-id';
import type { EndStatus } from '../model/delivery-log';
import type { Emit } from '../model/signals';

export interface AnnounceEndDeps {
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Says that a delivery has come to its end, and how long after it began (its event was accepted, or somebody requested it), if known. */
export function createAnnounceEnd({ clock, emit }: AnnounceEndDeps) {
  return function announceEnd(
    { eventId, endpointId }: DeliveryParts,
    status: EndStatus,
    begunAt: number | undefined,
  ): void {
    emit({
      name: 'delivery.ended',
      deliveryId: deliveryIdOf({ eventId, endpointId }),
      eventId,
      endpointId,
      status,
      lagMs: begunAt === undefined ? 0 : clock() - begunAt,
    });
  };
}

export type AnnounceEnd = ReturnType<typeof createAnnounceEnd>;
