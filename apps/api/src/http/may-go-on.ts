import type { ActFor } from '@hookferry/core/accounts/act-for';
import type { Authenticate } from '@hookferry/core/accounts/authenticate';
import { AppError, type ErrorCode } from '@hookferry/core/kernel/app-error';
import type { Scope } from '@hookferry/core/model/api-key';

export interface MayGoOnDeps {
  /** That which counts no failures: our own look at a key that was good is nobody's attempt to guess one. */
  readonly recheck: Authenticate;
  readonly actFor: ActFor;
}

/** What a request came with, which may be worth nothing by now. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly account: string | undefined;
  readonly scope: Scope;
}

/** @param header gives what the request says under a name. */
export function credentialsIn(header: (name: string) => string | undefined, scope: Scope): Credentials {
  return { authorization: header('authorization'), account: header('x-account-id'), scope };
}

const NO_MORE: readonly ErrorCode[] = ['unauthenticated', 'operator_only', 'not_found'];

/**
 * Whether a request that goes on and on would still be let in.
 *
 * @throws AppError when nobody knows: `storage_unavailable`, say.
 */
export function createMayGoOn({ recheck, actFor }: MayGoOnDeps) {
  return async function mayGoOn({ authorization, account, scope }: Credentials): Promise<boolean> {
    try {
      const { scopes } = await actFor(await recheck(authorization), account);
      return scopes.includes(scope);
    } catch (error) {
      if (error instanceof AppError && NO_MORE.includes(error.code)) return false;
      throw error;
    }
  };
}

export type MayGoOn = ReturnType<typeof createMayGoOn>;
