import { newestFirstCursorSchema } from '@hookferry/core/kernel/redis-newest-first';
import type { ManageReplays } from '@hookferry/core/recovery/manage-replays';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';
import { presentReplay, replaySchema } from './present-replay';

export function listReplays(replays: ManageReplays) {
  return defineRoute({
    operationId: 'listReplays',
    summary: "List a webhook's replays",
    method: 'get',
    path: '/v1/webhooks/:id/replays',
    scope: 'deliveries:read',
    request: { params: webhookParams, query: pageQuery(newestFirstCursorSchema) },
    responses: {
      200: { description: 'A page of replays.', schema: pageOf(replaySchema, 'ReplayPage') },
    },
    async handle({ apiKey, params, query }) {
      const page = await replays.list(apiKey.accountId, params.id, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.replays.map(presentReplay), page.nextCursor) };
    },
  });
}
