import { accountPatchSchema } from '@hookferry/core/accounts/account-input';
import type { ManageAccounts } from '@hookferry/core/manage/manage-accounts';
import { accountViewSchema, presentAccount } from '@hookferry/core/manage/present-account';
import { accountIdSchema } from '@hookferry/core/model/event';
import { z } from 'zod';
import { defineRoute } from '../http/route';

export function updateAccount(accounts: ManageAccounts) {
  return defineRoute({
    operationId: 'updateAccount',
    summary: "Change an account's weight",
    method: 'patch',
    path: '/v1/accounts/:id',
    scope: 'admin',
    operatorOnly: true,
    request: { params: z.object({ id: accountIdSchema }), body: accountPatchSchema },
    responses: {
      200: { description: 'The account.', schema: accountViewSchema },
    },
    async handle({ params, body }) {
      return { status: 200, body: presentAccount(await accounts.update(params.id, body)) };
    },
  });
}
