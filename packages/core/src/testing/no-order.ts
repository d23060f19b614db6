import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { fake } from './fake';

/** For what looks for endpoints with an order: there are none. */
export const noOrder = {
  endpointStore: fake<EndpointStore>({ findAll: async () => [] }),
  heldDeliveries: fake<HeldDeliveries>({ isHeld: async () => false }),
  deliveryQueue: fake<DeliveryQueue>({
    promote: async () => ({ running: new Set(), haveFailed: new Set() }),
    requestOf: async () => 'no_job',
  }),
};
