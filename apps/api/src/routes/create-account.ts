import { newAccountSchema } from '@webhooks/core/accounts/account-input';
import type { ManageAccounts } from '@webhooks/core/manage/manage-accounts';
import { accountViewSchema, presentAccount } from '@webhooks/core/manage/present-account';
import { ACCOUNT_ID_PREFIX } from '@webhooks/core/model/account';
import { defineRoute } from '../http/route';

export function createAccount(accounts: ManageAccounts) {
  return defineRoute({
    operationId: 'createAccount',
    summary: 'Create an account',
    method: 'post',
    path: '/v1/accounts',
    scope: 'admin',
    operatorOnly: true,
    request: { body: newAccountSchema },
    creates: true,
    responses: {
      201: { description: 'The account.', schema: accountViewSchema },
    },
    problems: ['conflict'],
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
