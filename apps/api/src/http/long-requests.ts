import type { ActFor } from '@hookferry/core/accounts/act-for';
import type { Authenticate } from '@hookferry/core/accounts/authenticate';
import type { AccountId, Scope } from '@hookferry/core/domain/account';
import { AppError, type ErrorCode } from '@hookferry/core/platform/app-error';

// Nobody knows when the others come to their end.
const RETRY_AFTER_MS = 10_000;

/** Lets each account have so many answers that go on and on at the same time, in this process. */
export function createLimitAtOnce(most: number) {
  const open = new Map<AccountId, number>();

  /** @throws AppError `rate_limited`, at the first step, when it is one too many. */
  return async function* limitAtOnce<Part>(
    accountId: AccountId,
    parts: AsyncIterable<Part>,
  ): AsyncGenerator<Part, void> {
    const others = open.get(accountId) ?? 0;
    if (others >= most) throw tooMany(most);
    open.set(accountId, others + 1);
    try {
      yield* parts;
    } finally {
      leave(accountId);
    }
  };

  function leave(accountId: AccountId): void {
    const left = (open.get(accountId) ?? 0) - 1;
    if (left > 0) open.set(accountId, left);
    else open.delete(accountId);
  }
}

function tooMany(most: number): AppError {
  return new AppError('rate_limited', `No more than ${most} of these requests may run at the same time.`, {
    retryAfterMs: RETRY_AFTER_MS,
  });
}

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
