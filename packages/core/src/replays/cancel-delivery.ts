import { type AnnounceEndDeps, createAnnounceEnd } from '../deliver/announce';
import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { Clock } from '../platform/clock';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';

export interface CancelDeliveryDeps extends AnnounceEndDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'find' | 'append'>;
  readonly admissionStore: Pick<AdmissionStore, 'leaveOrder'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'askForWakeUp'>;
  readonly clock: Clock;
}

/**
 * Ends a delivery that nothing works on any more, and makes room for the one behind it if they go in order. One that has ended, or that there
 * is not, stays as it is. Doing it again is harmless.
 */
export function createCancelDelivery(deps: CancelDeliveryDeps) {
  const announceEnd = createAnnounceEnd(deps);

  return async function cancelDelivery(
    accountId: AccountId | undefined,
    delivery: DeliveryParts,
    reason: string,
  ): Promise<void> {
    const { eventId, endpointId } = delivery;
    const listed = await deps.deliveryStore.find(delivery);
    if (listed?.isOpen) {
      await deps.deliveryStore.append(delivery, { kind: 'cancelled', reason });
      announceEnd({ ...delivery, accountId }, 'cancelled', listed.round.requestedAt ?? listed.createdAt);
    }
    await deps.admissionStore.leaveOrder(endpointId, eventId);
    // Not for a delivery that nobody has made: by the wrong account, its endpoint would look as if it were deleted.
    if (listed && accountId !== undefined) {
      await deps.heldDeliveries.askForWakeUp({ accountId, endpointId }, deps.clock());
    }
  };
}

export type CancelDelivery = ReturnType<typeof createCancelDelivery>;
