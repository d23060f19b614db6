import { type AddressExceptions, AddressPolicy } from '../deliver/egress/address-policy';
import { UnresolvedNameError } from '../deliver/egress/resolve-name';
import type { DirectRouteParts } from '../deliver/egress/routes';

export interface GuardChanges extends Partial<AddressExceptions>, Partial<DirectRouteParts> {}

/**
 * A guard that lets deliveries go to this machine, where the receivers of tests are, and resolves no name.
 */
export function buildGuard(changes: GuardChanges = {}): DirectRouteParts {
  const { allowedCidrs = ['127.0.0.0/8', '::1/128'], deniedCidrs = [], ...parts } = changes;
  return {
    addressPolicy: new AddressPolicy({ allowedCidrs, deniedCidrs }),
    emit: () => {},
    resolveName: (name) => Promise.reject(new UnresolvedNameError(name, 'ENOTFOUND')),
    ...parts,
  };
}
