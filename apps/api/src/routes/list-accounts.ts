import { newestFirstCursorSchema } from '@hookferry/core/kernel/redis-newest-first';
import type { ManageAccounts } from '@hookferry/core/manage/manage-accounts';
import { accountViewSchema, presentAccount } from '@hookferry/core/manage/present-account';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

export function listAccounts(accounts: ManageAccounts) {
  return defineRoute({
    operationId: 'listAccounts',
    summary: 'List accounts',
    method: 'get',
    path: '/v1/accounts',
    scope: 'admin',
    operatorOnly: true,
    request: { query: pageQuery(newestFirstCursorSchema) },
    responses: {
      200: { description: 'A page of accounts.', schema: pageOf(accountViewSchema, 'AccountPage') },
    },
    async handle({ query }) {
      const page = await accounts.list(query.limit, query.cursor);
      return { status: 200, body: presentPage(page.accounts.map(presentAccount), page.nextCursor) };
    },
  });
}
