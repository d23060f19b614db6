import type { ActFor } from '@hookferry/core/accounts/act-for';
import type { Authenticate } from '@hookferry/core/accounts/authenticate';
import type { AccountId, Scope } from '@hookferry/core/domain/account';
import { AppError, type ErrorCode } from '@hookferry/core/platform/app-error';

// Nobody knows when the others come to their end.
const RETRY_AFTER_MS = 10_000;

interface LongAnswer {
  readonly operation: string;
  readonly accountId: AccountId;
  /** How many the account may have of the operation at the same time. */
  readonly most: number;
}

/** The responses that go on and on, in this process. Each account may have only so many of each kind at the same time. */
export class LongAnswers {
  readonly #open = new Map<string, number>();

  /** @throws AppError `rate_limited`, at the first step, when it is one too many. */
  async *limit<Part>(
    { operation, accountId, most }: LongAnswer,
    parts: AsyncIterable<Part>,
  ): AsyncGenerator<Part, void> {
    const key = `${operation} ${accountId}`;
    const others = this.#open.get(key) ?? 0;
    if (others >= most) throw tooMany(most);
    this.#open.set(key, others + 1);
    try {
      yield* parts;
    } finally {
      this.#leave(key);
    }
  }

  #leave(key: string): void {
    const left = (this.#open.get(key) ?? 0) - 1;
    if (left > 0) this.#open.set(key, left);
    else this.#open.delete(key);
  }
}

function tooMany(most: number): AppError {
  return new AppError('rate_limited', `No more than ${most} of these requests may run at the same time.`, {
    retryAfterMs: RETRY_AFTER_MS,
  });
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

interface MayGoOnContext {
  /** That which counts no failures: our own check of a key that was good is nobody's attempt to guess one. */
  readonly recheck: Authenticate;
  readonly actFor: ActFor;
}

/**
 * Whether a request that goes on and on would still be let in.
 *
 * @throws AppError when nobody knows: `storage_unavailable`, say.
 */
export async function mayGoOn(
  { recheck, actFor }: MayGoOnContext,
  { authorization, account, scope }: Credentials,
): Promise<boolean> {
  try {
    const { scopes } = await actFor(await recheck(authorization), account);
    return scopes.includes(scope);
  } catch (error) {
    if (error instanceof AppError && NO_MORE.includes(error.code)) return false;
    throw error;
  }
}
