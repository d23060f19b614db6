import type { ManageAccounts } from '@hookferry/core/manage/manage-accounts';
import { accountViewSchema, presentAccount } from '@hookferry/core/manage/present-account';
import { accountIdSchema } from '@hookferry/core/model/event';
import { z } from 'zod';
import { defineRoute } from '../http/route';

export function readAccount(accounts: ManageAccounts) {
  return defineRoute({
    operationId: 'readAccount',
    summary: 'Read an account',
    method: 'get',
    path: '/v1/accounts/:id',
    scope: 'admin',
    operatorOnly: true,
    request: { params: z.object({ id: accountIdSchema }) },
    responses: {
      200: { description: 'The account.', schema: accountViewSchema },
    },
    async handle({ params }) {
      const account = await accounts.read(params.id);
      const remains = await accounts.readRemains(account);
      return { status: 200, body: presentAccount({ ...account, remains }) };
    },
  });
}
