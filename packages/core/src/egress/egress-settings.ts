import { cidrListSchema } from './cidr-list';

/** Where deliveries may go: the same for registering an endpoint (API) and for connecting to it (worker). */
export const egressSettings = {
  /** Exceptions to the refusal of addresses that are not public. With any, internal names may be registered. */
  DELIVERY_ALLOWED_CIDRS: cidrListSchema.default([]),
  /** Refused whatever else says. */
  DELIVERY_DENIED_CIDRS: cidrListSchema.default([]),
};
