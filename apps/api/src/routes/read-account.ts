import type { ManageAccounts } from '@webhooks/core/accounts/manage-accounts';
import { presentAccount } from '@webhooks/core/accounts/present-account';
import { accountIdSchema } from '@webhooks/core/events/event';
import { z } from 'zod';
import { defineRoute } from '../http/route';

export function readAccount(accounts: ManageAccounts) {
  return defineRoute({
    method: 'get',
    path: '/v1/accounts/:id',
    scope: 'admin',
    operatorOnly: true,
    request: { params: z.object({ id: accountIdSchema }) },
    async handle({ params }) {
      return { status: 200, body: presentAccount(await accounts.read(params.id)) };
    },
  });
}
