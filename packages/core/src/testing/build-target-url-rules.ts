import { createClassifyAddress } from '../egress/classify-address';
import type { TargetUrlRules } from '../egress/target-url';

/** The rules of a service in production: https, public addresses, public names. */
export function buildTargetUrlRules(change: Partial<TargetUrlRules> = {}): TargetUrlRules {
  return {
    allowHttp: false,
    allowInternalNames: false,
    classifyAddress: createClassifyAddress({ allowedCidrs: [], deniedCidrs: [] }),
    ...change,
  };
}
