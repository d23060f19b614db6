import type { Emit } from '../domain/signal';
import type { ClassifyAddress } from './classify-address';

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

/** A delivery would have gone where none may go. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  /** As Node's own network errors have one: it comes through the HTTP client, which the class does not. */
  readonly code = 'ERR_BLOCKED_ADDRESS';

  /**
   * The message is shown to the client, so it repeats the host that the client gave, and not where our DNS says
   * that it leads: whoever can register a name could map an internal network otherwise. The log has the address.
   */
  constructor(host: string) {
    super(`${host} leads to an address that no delivery may go to; the worker's log says to which and why.`);
  }
}

/** A name's addresses could not be found. */
export class UnresolvedNameError extends Error {
  override readonly name = 'UnresolvedNameError';
  /**
   * One of our own: what resolvers give may look like another failure, such as ECONNREFUSED when it was the name
   * server that refused.
   */
  readonly code = 'ERR_UNRESOLVED_NAME';

  /** @param why the resolver's code, such as ENOTFOUND. */
  constructor(name: string, why: string, cause?: unknown) {
    super(`${name} could not be resolved (${why}).`, { cause });
  }
}
