import { accountNotFound, isThere } from '../model/account';
import { accountIdSchema } from '../model/event';
import type { Principal } from '../model/principal';
import type { AccountStore } from './redis-account-store';
import { requireOperator } from './require-operator';

/**
 * Gives by whom a request counts: by whoever it came from, or, when an operator names another account, by the same as if
 * they belonged to that account. The scopes stay what they are.
 *
 * @throws AppError `operator_only` for anybody else, before it is looked whether there is such an account;
 * `not_found` when there is none, or it is being erased.
 */
export function createActFor(accountStore: Pick<AccountStore, 'find'>) {
  return async function actFor(principal: Principal, account: string | undefined): Promise<Principal> {
    if (account === undefined || account === principal.accountId) return principal;
    requireOperator(principal);
    const id = accountIdSchema.safeParse(account).data;
    const found = id === undefined ? undefined : await accountStore.find(id);
    if (id === undefined || !isThere(found)) throw accountNotFound();
    return { ...principal, accountId: id };
  };
}

export type ActFor = ReturnType<typeof createActFor>;
