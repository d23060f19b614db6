import { newestFirstCursorSchema } from '@webhooks/core/redis/redis-newest-first';
import type { ManageReplays } from '@webhooks/core/replays/manage-replays';
import { pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { presentReplay } from './present-replay';
import { webhookParams } from './webhook-params';

export function listReplays(replays: ManageReplays) {
  return defineRoute({
    method: 'get',
    path: '/v1/webhooks/:id/replays',
    scope: 'deliveries:read',
    request: { params: webhookParams, query: pageQuery(newestFirstCursorSchema) },
    async handle({ apiKey, params, query }) {
      const page = await replays.list(apiKey.accountId, params.id, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.replays.map(presentReplay), page.nextCursor) };
    },
  });
}
