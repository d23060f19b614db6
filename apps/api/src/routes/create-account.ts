import { newAccountSchema } from '@hookferry/core/accounts/account-input';
import type { ManageAccounts } from '@hookferry/core/manage/manage-accounts';
import { accountViewSchema, presentAccount } from '@hookferry/core/manage/present-account';
import { ACCOUNT_ID_PREFIX } from '@hookferry/core/model/account';
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
