import type { AccountStore } from '../accounts/redis-account-store';
import type { RemoveEndpoints } from '../endpoints/redis-remove-endpoints';
import { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import { type Account, accountNotFound, DEFAULT_ACCOUNT } from '../model/account';
import type { AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import type { RemainsStore } from './redis-remains-store';

/** The queue of accounts to erase. Adding the same one again is harmless. */
export interface ErasureQueue {
  add(id: AccountId): Promise<void>;
}

export interface EraseAccountDeps {
  readonly accountStore: Pick<AccountStore, 'markErasing'>;
  readonly removeEndpoints: RemoveEndpoints;
  readonly remainsStore: Pick<RemainsStore, 'removeApiKeys' | 'removePortalSessions'>;
  readonly erasureQueue: ErasureQueue;
  readonly clock: Clock;
  readonly emit: Emit;
}

// So many at a time, so that no command is long.
const KEYS_AT_ONCE = 100;

/**
 * Begins to erase an account with all that it owns. Once the promise has resolved, its API keys and portal sessions are good for
 * nothing and its endpoints get nothing any more; what else there is of it, a worker removes step by step. Asking again goes on
 * where it broke off.
 *
 * @throws AppError `not_found`; `conflict` for the operator's own account.
 */
export function createEraseAccount(deps: EraseAccountDeps) {
  const { accountStore, removeEndpoints, remainsStore, erasureQueue, clock, emit } = deps;

  return async function eraseAccount(id: AccountId): Promise<Account> {
    if (id === DEFAULT_ACCOUNT) {
      throw new AppError(
        'conflict',
        `The account "${DEFAULT_ACCOUNT}" is the operator's and can't be erased.`,
      );
    }
    const account = await accountStore.markErasing(id, clock());
    if (!account) throw accountNotFound();
    // Before the rest, which the worker repeats: so there is no moment to be killed at that leaves it to nobody.
    await erasureQueue.add(id);
    await removeEndpoints(id);
    while ((await remainsStore.removeApiKeys(id, KEYS_AT_ONCE)) > 0);
    while ((await remainsStore.removePortalSessions(id, KEYS_AT_ONCE)) > 0);
    emit({ name: 'account.erasing', accountId: id });
    return account;
  };
}

export type EraseAccount = ReturnType<typeof createEraseAccount>;
