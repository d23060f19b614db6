import { AppError } from '@hookferry/core/kernel/app-error';
import type { AccountId } from '@hookferry/core/model/event';

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
