import { AppError } from '@hookferry/core/kernel/app-error';
import type { AccountId } from '@hookferry/core/model/event';
import type { Response } from 'express';

// Of shorter ones there is one for each connection, and the system takes them at once.
const LARGE_BYTES = 16 * 1024;
/** The longest answer, a page of webhooks, has 12 MB. */
const MOST_BYTES = 32 * 1024 * 1024;
const RETRY_AFTER_MS = 1_000;

/** How much of what an account was answered is still in this process, because its clients are slow to read it. */
export class UnreadAnswers {
  readonly #bytes = new Map<AccountId, number>();

  /**
   * @param bytes how long the answer is, if that is known already.
   * @throws AppError `rate_limited` when that were too much together with what is there.
   */
  requireRoom(accountId: AccountId, bytes = 0): void {
    if (this.of(accountId) + bytes <= MOST_BYTES) return;
    throw new AppError(
      'rate_limited',
      `More than ${MOST_BYTES} bytes of answers to the account would wait to be read. Read those that were asked for.`,
      { retryAfterMs: RETRY_AFTER_MS },
    );
  }

  /** Counts an answer until it is written out, or nobody is there to read it. */
  note(accountId: AccountId, bytes: number, response: Response): void {
    // One whose client has gone already closes no more.
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
