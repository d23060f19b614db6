import type { AccountPatch, NewAccount } from '../accounts/account-input';
import type { AccountPage, AccountStore } from '../accounts/redis-account-store';
import { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import type { NewId } from '../kernel/ids';
import { ACCOUNT_ID_PREFIX, type Account, accountNotFound, isThere } from '../model/account';
import type { AccountId } from '../model/event';
import type { Remains, RemainsStore } from './redis-remains-store';

export interface ManageAccountsDeps {
  readonly accountStore: Pick<AccountStore, 'create' | 'find' | 'list' | 'change'>;
  readonly remainsStore: Pick<RemainsStore, 'count'>;
  readonly newId: NewId;
  readonly clock: Clock;
}

/** What an operator can do with accounts. */
export function createManageAccounts({ accountStore, remainsStore, newId, clock }: ManageAccountsDeps) {
  return {
    /**
     * Repeating a creation gives the account that it made.
     *
     * @param creation the account's id, if the client has chosen none.
     * @throws AppError `conflict` when there is an account with this id, or was one until not long ago.
     */
    async create(input: NewAccount, creation = newId(ACCOUNT_ID_PREFIX)): Promise<Account> {
      const { id, name, weight, quota_bytes: quotaBytes } = input;
      const account: Account = {
        id: id ?? (creation as AccountId),
        creation,
        ...(name === undefined ? {} : { name }),
        ...(weight === undefined ? {} : { weight }),
        ...(quotaBytes === undefined ? {} : { quotaBytes }),
        createdAt: clock(),
      };
      if (await accountStore.create(account)) return account;
      const existing = await accountStore.find(account.id);
      if (existing?.creation === creation) return existing;
      throw new AppError(
        'conflict',
        existing
          ? 'There is already an account with this id.'
          : 'The account with this id was erased. The id is free again once nothing of that time is kept any more.',
      );
    },

    /** In force for what is published from then on. @throws AppError `not_found`, also while it is being erased. */
    async update(id: AccountId, { weight, quota_bytes: quotaBytes }: AccountPatch): Promise<Account> {
      const isChanged = weight !== undefined || quotaBytes !== undefined;
      const account = isChanged
        ? await accountStore.change(id, { weight, quotaBytes })
        : await accountStore.find(id);
      if (!isThere(account)) throw accountNotFound();
      return account;
    },

    /** @throws AppError `not_found`. */
    async read(id: AccountId): Promise<Account> {
      const account = await accountStore.find(id);
      if (!account) throw accountNotFound();
      return account;
    },

    /** How much there still is of an account that is being erased; `undefined` for any other. */
    async readRemains({ id, erasingSince }: Account): Promise<Remains | undefined> {
      return erasingSince === undefined ? undefined : await remainsStore.count(id);
    },

    list(limit: number, before?: string): Promise<AccountPage> {
      return accountStore.list(limit, before);
    },
  };
}

export type ManageAccounts = ReturnType<typeof createManageAccounts>;
