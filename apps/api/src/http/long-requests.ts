import type { Authentication } from '@hookferry/core/accounts/authentication';
import type { AccountId, Scope } from '@hookferry/core/domain/account';
import { AppError, type ErrorCode } from '@hookferry/core/platform/app-error';
import { type Connection, Recheck } from '@hookferry/core/platform/recheck';
import type { Response } from 'express';

// The end of the other requests is unknown.
const RETRY_AFTER_MS = 10_000;

interface LongAnswer {
  readonly operation: string;
  readonly accountId: AccountId;
  /** The most concurrent requests of this operation for the account. */
  readonly most: number;
}

/**
 * The long-running responses in this process. Each account may have only a few of each kind at the same time.
 */
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
  return new AppError(
    'rate_limited',
    `At most ${most} of these requests may run at the same time. Wait until one has ended.`,
    {
      retryAfterMs: RETRY_AFTER_MS,
    },
  );
}

/** The credentials of a request, which may have become invalid. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly account: string | undefined;
  readonly scope: Scope;
}

/** @param header gives the request's header of a name. */
export function credentialsIn(header: (name: string) => string | undefined, scope: Scope): Credentials {
  return { authorization: header('authorization'), account: header('x-account-id'), scope };
}

const NO_MORE: readonly ErrorCode[] = ['unauthenticated', 'operator_only', 'not_found'];

/**
 * Whether a long-running request would still be let in.
 *
 * @throws AppError when that can't be checked: `storage_unavailable`, for example.
 */
export async function mayGoOn(
  authentication: Authentication,
  { authorization, account, scope }: Credentials,
): Promise<boolean> {
  try {
    const principal = await authentication.authenticateAgain(authorization);
    const { scopes } = await authentication.resolveAccount(principal, account);
    return scopes.includes(scope);
  } catch (error) {
    if (error instanceof AppError && NO_MORE.includes(error.code)) return false;
    throw error;
  }
}

/**
 * Break the connection off as soon as the key is refused: the client must not take the part for the whole.
 */
export async function* whileAllowed(
  lines: (connection: Connection) => AsyncIterable<string>,
  connection: Connection,
  isAllowed: () => Promise<boolean>,
): AsyncGenerator<string, void> {
  const recheck = new Recheck({ isAllowed, onEnd: connection.close });
  recheck.start();
  try {
    yield* lines(connection);
  } finally {
    recheck.stop();
  }
}

// A connection has only one shorter response, and the system takes it at once.
const LARGE_BYTES = 16 * 1024;
/** The longest response, a page of webhooks, has 12 MB. */
const MOST_BYTES = 32 * 1024 * 1024;
const RETRY_UNREAD_AFTER_MS = 1_000;

/** How many bytes of an account's responses are still in this process, because its clients read slowly. */
export class UnreadAnswers {
  readonly #bytes = new Map<AccountId, number>();

  /**
   * @param bytes the length of the response, if that is known already.
   * @throws AppError `rate_limited` when that is too much together with the unread ones.
   */
  requireRoom(accountId: AccountId, bytes = 0): void {
    if (this.of(accountId) + bytes <= MOST_BYTES) return;
    throw new AppError(
      'rate_limited',
      `More than ${MOST_BYTES} bytes of responses to this account would be unread. First read the responses to your earlier requests.`,
      { retryAfterMs: RETRY_UNREAD_AFTER_MS },
    );
  }

  /** Count a response until it is written out, or its client is gone. */
  note(accountId: AccountId, bytes: number, response: Response): void {
    // A response whose client is gone already does not close any more.
    if (bytes <= LARGE_BYTES || response.destroyed) return;
    this.#bytes.set(accountId, this.of(accountId) + bytes);
    response.once('close', () => {
      const left = this.of(accountId) - bytes;
      if (left > 0) this.#bytes.set(accountId, left);
      else this.#bytes.delete(accountId);
    });
  }

  of(accountId: AccountId): number {
    return this.#bytes.get(accountId) ?? 0;
  }
}
