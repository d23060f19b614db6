import type { ActFor } from '@hookferry/core/accounts/act-for';
import type { AuthenticateClient } from '@hookferry/core/accounts/limit-auth-failures';
import { AppError, type ErrorCode } from '@hookferry/core/kernel/app-error';
import type { Scope } from '@hookferry/core/model/api-key';

export interface MayGoOnDeps {
  readonly authenticate: AuthenticateClient;
  readonly actFor: ActFor;
}

/** What a request came with, which may be worth nothing by now. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly account: string | undefined;
  readonly scope: Scope;
}

const NO_MORE: readonly ErrorCode[] = ['unauthenticated', 'operator_only', 'not_found'];

/**
 * Whether a request that goes on and on would still be let in.
 *
 * @throws AppError when nobody knows: `storage_unavailable`, say.
 */
export function createMayGoOn({ authenticate, actFor }: MayGoOnDeps) {
  return async function mayGoOn({ authorization, account, scope }: Credentials): Promise<boolean> {
    try {
      // Without an address: what was good when it came is nobody's attempt to guess a key.
      const { scopes } = await actFor(await authenticate(authorization, undefined), account);
      return scopes.includes(scope);
    } catch (error) {
      if (error instanceof AppError && NO_MORE.includes(error.code)) return false;
      throw error;
    }
  };
}

export type MayGoOn = ReturnType<typeof createMayGoOn>;
