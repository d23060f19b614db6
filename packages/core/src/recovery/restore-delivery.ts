import type { RestoreDelivery } from '../admission/look-at-endpoint';
import type { AdmissionStore } from '../admission/redis-admission-store';
import type { DeliveryQueue } from '../intake/fan-out-event';
import type { DeliveryStore } from '../record/redis-delivery-store';

export interface RestoreDeliveryDeps {
  readonly deliveryStore: Pick<DeliveryStore, 'readSummary'>;
  readonly deliveryQueue: DeliveryQueue;
  readonly admissionStore: Pick<AdmissionStore, 'leaveOrder'>;
}

/** Gives a delivery that all others of its endpoint wait for a job, or takes it out of their way if it has ended. */
export function createRestoreDelivery({
  deliveryStore,
  deliveryQueue,
  admissionStore,
}: RestoreDeliveryDeps): RestoreDelivery {
  return async function restoreDelivery({ accountId, endpointId }, eventId) {
    const { isOpen } = await deliveryStore.readSummary(endpointId, eventId);
    if (isOpen) {
      await deliveryQueue.addAll([{ accountId, endpointId, eventId }]);
    } else {
      await admissionStore.leaveOrder(endpointId, eventId);
    }
  };
}
