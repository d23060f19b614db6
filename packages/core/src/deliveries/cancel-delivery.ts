import type { AccountId } from '../events/event';
import type { WakeQueue } from '../gates/hold';
import type { TurnStore } from '../gates/redis-turn-store';
import type { Clock } from '../runtime/clock';
import { type AnnounceEndDeps, createAnnounceEnd } from './announce-end';
import type { DeliveryParts } from './delivery-id';
import type { DeliveryStore } from './redis-delivery-store';

export interface CancelDeliveryDeps extends AnnounceEndDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'find' | 'append'>;
  readonly turnStore: Pick<TurnStore, 'pass'>;
  readonly wakeQueue: WakeQueue;
  readonly clock: Clock;
}

/**
 * Ends a delivery that nothing works on any more, and its turn if it goes in order. One that has ended, or that there
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
      announceEnd(delivery, 'cancelled', listed.round.requestedAt ?? listed.createdAt);
    }
    await deps.turnStore.pass(endpointId, eventId);
    // Not for a delivery that nobody has made: looking at a gate by the wrong account would remove it.
    if (listed && accountId !== undefined) await deps.wakeQueue.wake(accountId, endpointId, deps.clock());
  };
}

export type CancelDelivery = ReturnType<typeof createCancelDelivery>;
