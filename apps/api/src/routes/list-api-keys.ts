import type { ManageApiKeys } from '@webhooks/core/api-keys/manage-api-keys';
import { presentApiKey } from '@webhooks/core/api-keys/present-api-key';
import { newestFirstCursorSchema } from '@webhooks/core/redis/redis-newest-first';
import { pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

export function listApiKeys(apiKeys: ManageApiKeys) {
  return defineRoute({
    method: 'get',
    path: '/v1/api-keys',
    scope: 'admin',
    request: { query: pageQuery(newestFirstCursorSchema) },
    async handle({ apiKey, query }) {
      const page = await apiKeys.list(apiKey.accountId, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.apiKeys.map(presentApiKey), page.nextCursor) };
    },
  });
}
