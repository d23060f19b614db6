import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import { newestFirstCursorSchema } from '@hookferry/core/kernel/redis-newest-first';
import type { ManageAccounts } from '@hookferry/core/manage/manage-accounts';
import { accountViewSchema, presentAccount } from '@hookferry/core/manage/present-account';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { presentUsage, usageSchema } from './present-usage';

const querySchema = pageQuery(newestFirstCursorSchema).extend({
  include: z.enum(['usage']).optional(),
});

const listedAccountSchema = accountViewSchema
  .extend({ usage: usageSchema.optional().describe('How much it stores, with `include=usage`.') })
  .meta({ id: 'ListedAccount' });

export function listAccounts(accounts: ManageAccounts, quota: Pick<AccountQuota, 'look'>) {
  return defineRoute({
    operationId: 'listAccounts',
    summary: 'List accounts',
    method: 'get',
    path: '/v1/accounts',
    scope: 'admin',
    operatorOnly: true,
    request: { query: querySchema },
    responses: {
      200: { description: 'A page of accounts.', schema: pageOf(listedAccountSchema, 'AccountPage') },
    },
    async handle({ query }) {
      const page = await accounts.list(query.limit, query.cursor);
      const listed = await Promise.all(
        page.accounts.map(async (account) => {
          const shown = presentAccount(account);
          if (query.include !== 'usage') return shown;
          return { ...shown, usage: presentUsage(await quota.look(account.id)) };
        }),
      );
      return { status: 200, body: presentPage(listed, page.nextCursor) };
    },
  });
}
