import { createLru } from '../kernel/lru';
import type { AccountId } from '../model/event';
import type { AccountStore } from './redis-account-store';

const REMEMBERED_ACCOUNTS = 1_000;
// Far less than an erasure waits for what has begun before.
const REMEMBERED_FOR_MS = 1_000;

/**
 * Whether events of an account are taken off the queue: not when it is being erased, or was not long ago. That they are is
 * remembered for a second. One that there never was takes them: it has nobody to send them to.
 *
 * @param now milliseconds by a clock that never jumps, such as `steadyClock`.
 */
export function createTakesEvents(accountStore: Pick<AccountStore, 'isErased'>, now: () => number) {
  const knownSince = createLru<AccountId, number>(REMEMBERED_ACCOUNTS);

  return async function takesEvents(accountId: AccountId): Promise<boolean> {
    const askedAt = now();
    if (askedAt - (knownSince.get(accountId) ?? -Infinity) < REMEMBERED_FOR_MS) return true;
    const takes = !(await accountStore.isErased(accountId));
    if (takes) knownSince.set(accountId, askedAt);
    return takes;
  };
}

export type TakesEvents = ReturnType<typeof createTakesEvents>;
