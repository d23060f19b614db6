import { ACCOUNT_ID_PREFIX } from '@webhooks/core/accounts/account';
import { newAccountSchema } from '@webhooks/core/accounts/account-input';
import type { ManageAccounts } from '@webhooks/core/accounts/manage-accounts';
import { presentAccount } from '@webhooks/core/accounts/present-account';
import { defineRoute } from '../http/route';

export function createAccount(accounts: ManageAccounts) {
  return defineRoute({
    method: 'post',
    path: '/v1/accounts',
    scope: 'admin',
    operatorOnly: true,
    request: { body: newAccountSchema },
    creates: true,
    async handle({ body, newId }) {
      const account = await accounts.create(body, newId(ACCOUNT_ID_PREFIX));
      return {
        status: 201,
        headers: { location: `/v1/accounts/${account.id}` },
        body: presentAccount(account),
      };
    },
  });
}
