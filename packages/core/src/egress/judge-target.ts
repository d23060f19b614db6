import type { Emit } from '../model/signal';
import type { ClassifyAddress } from './classify-address';
import { BlockedAddressError } from './egress-errors';

export interface JudgeTargetDeps {
  readonly classifyAddress: ClassifyAddress;
  readonly emit: Emit;
}

/**
 * Gives the error to end a connection with if its address may not be reached. `host` is what the URL says:
 * the address itself, or a name that led to it.
 */
export type JudgeTarget = (host: string, address: string) => BlockedAddressError | undefined;

export function createJudgeTarget({ classifyAddress, emit }: JudgeTargetDeps): JudgeTarget {
  return (host, address) => {
    const verdict = classifyAddress(address);
    if (verdict.allowed) return undefined;
    emit({ name: 'delivery.blocked', host, address, reason: verdict.reason });
    return new BlockedAddressError(host);
  };
}
