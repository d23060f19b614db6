import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { Clock } from '../runtime/clock';
import type { NewId } from '../runtime/ids';
import { ACCOUNT_ID_PREFIX, type Account } from './account';
import type { NewAccount } from './account-input';
import type { AccountPage, AccountStore } from './redis-account-store';

export interface ManageAccountsDeps {
  readonly accountStore: AccountStore;
  readonly newId: NewId;
  readonly clock: Clock;
}

/** What an operator can do with accounts. */
export function createManageAccounts({ accountStore, newId, clock }: ManageAccountsDeps) {
  return {
    /** @throws AppError `conflict` when there is an account with this id. */
    async create({ id, name }: NewAccount): Promise<Account> {
      const account: Account = {
        id: id ?? (newId(ACCOUNT_ID_PREFIX) as AccountId),
        ...(name === undefined ? {} : { name }),
        createdAt: clock(),
      };
      if (await accountStore.create(account)) return account;
      throw new AppError('conflict', 'There is already an account with this id.');
    },

    /** @throws AppError `not_found`. */
    async read(id: AccountId): Promise<Account> {
      const account = await accountStore.find(id);
      if (!account) throw accountNotFound();
      return account;
    },

    list(limit: number, before?: string): Promise<AccountPage> {
      return accountStore.list(limit, before);
    },
  };
}

export type ManageAccounts = ReturnType<typeof createManageAccounts>;

export function accountNotFound(): AppError {
  return new AppError('not_found', 'There is no account with this id.');
}
