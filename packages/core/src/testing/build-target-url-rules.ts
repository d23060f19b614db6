import { AddressPolicy } from '../deliver/egress/address-policy';
import type { EndpointRules } from '../endpoints/endpoint-input';

/** The rules of a service in production: https, public addresses, public names. */
export function buildTargetUrlRules(change: Partial<EndpointRules> = {}): EndpointRules {
  return {
    retentionMs: 14 * 86_400_000,
    allowHttp: false,
    allowInternalNames: false,
    addressPolicy: new AddressPolicy({ allowedCidrs: [], deniedCidrs: [] }),
    ...change,
  };
}
