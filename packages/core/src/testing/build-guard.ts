import type { Emit } from '../domain/signal';
import { type AddressExceptions, createClassifyAddress } from '../egress/classify-address';
import type { Guard } from '../egress/direct-route';
import { createJudgeTarget, UnresolvedNameError } from '../egress/judge-target';
import { createGuardedLookup, type ResolveName } from '../egress/resolve-name';

export interface GuardChanges extends Partial<AddressExceptions> {
  readonly resolveName?: ResolveName;
  readonly emit?: Emit;
}

/** A guard that lets deliveries go to this machine, where the receivers of tests are, and resolves no name. */
export function buildGuard(changes: GuardChanges = {}): Guard {
  const { allowedCidrs = ['127.0.0.0/8', '::1/128'], deniedCidrs = [], emit = () => {} } = changes;
  const resolveName =
    changes.resolveName ?? ((name) => Promise.reject(new UnresolvedNameError(name, 'ENOTFOUND')));
  const classifyAddress = createClassifyAddress({ allowedCidrs, deniedCidrs });
  const judgeTarget = createJudgeTarget({ classifyAddress, emit });
  return { judgeTarget, lookup: createGuardedLookup(resolveName, judgeTarget) };
}
