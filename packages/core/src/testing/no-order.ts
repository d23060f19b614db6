/** For what looks for endpoints with an order: there are none. */
export const noOrder = {
  endpointStore: { findAll: async () => [] },
  heldDeliveries: { isHeld: async () => false },
  deliveryQueue: { promote: async () => {}, requestOf: async () => 'no_job' as const },
};
