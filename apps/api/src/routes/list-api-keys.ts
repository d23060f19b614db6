import type { ManageApiKeys } from '@hookferry/core/accounts/manage-api-keys';
import { apiKeyViewSchema, presentApiKey } from '@hookferry/core/accounts/present-api-key';
import { newestFirstCursorSchema } from '@hookferry/core/kernel/redis-newest-first';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

export function listApiKeys(apiKeys: ManageApiKeys) {
  return defineRoute({
    operationId: 'listApiKeys',
    summary: 'List API keys',
    method: 'get',
    path: '/v1/api-keys',
    scope: 'admin',
    request: { query: pageQuery(newestFirstCursorSchema) },
    responses: {
      200: { description: 'A page of API keys.', schema: pageOf(apiKeyViewSchema, 'ApiKeyPage') },
    },
    async handle({ apiKey, query }) {
      const page = await apiKeys.list(apiKey.accountId, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.apiKeys.map(presentApiKey), page.nextCursor) };
    },
  });
}
