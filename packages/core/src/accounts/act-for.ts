import { accountNotFound, isThere } from '../model/account';
import type { ApiKey } from '../model/api-key';
import { accountIdSchema } from '../model/event';
import type { AccountStore } from './redis-account-store';
import { requireOperator } from './require-operator';

/**
 * Gives the key by which a request counts: the one it came with, or, when an operator names another account,
 * that one as if it were a key of that account. Its scopes stay what they are.
 *
 * @throws AppError `operator_only` for anybody else, before it is looked whether there is such an account;
 * `not_found` when there is none, or it is being erased.
 */
export function createActFor(accountStore: Pick<AccountStore, 'find'>) {
  return async function actFor(apiKey: ApiKey, account: string | undefined): Promise<ApiKey> {
    if (account === undefined || account === apiKey.accountId) return apiKey;
    requireOperator(apiKey);
    const id = accountIdSchema.safeParse(account).data;
    const found = id === undefined ? undefined : await accountStore.find(id);
    if (id === undefined || !isThere(found)) throw accountNotFound();
    return { ...apiKey, accountId: id };
  };
}

export type ActFor = ReturnType<typeof createActFor>;
