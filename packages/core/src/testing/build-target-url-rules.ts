import type { TargetUrlRules } from '../domain/target-url';
import { AddressPolicy } from '../egress/address-policy';

/** The rules of a service in production: https, public addresses, public names. */
export function buildTargetUrlRules(change: Partial<TargetUrlRules> = {}): TargetUrlRules {
  return {
    allowHttp: false,
    allowInternalNames: false,
    addressPolicy: new AddressPolicy({ allowedCidrs: [], deniedCidrs: [] }),
    ...change,
  };
}
