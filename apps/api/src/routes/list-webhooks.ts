import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { endpointIdSchema, endpointStatusSchema } from '@hookferry/core/model/endpoint';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { presentWebhook, webhookSchema } from './present-webhook';

const querySchema = pageQuery(endpointIdSchema).extend({
  status: endpointStatusSchema.optional(),
  /** Those that asked for events of this type. */
  event_type: z.string().min(1).optional(),
});

export function listWebhooks(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'listWebhooks',
    summary: 'List webhooks',
    method: 'get',
    path: '/v1/webhooks',
    scope: 'webhooks:read',
    // Up to 200 webhooks of 64 KiB each.
    isHeavy: true,
    request: { query: querySchema },
    responses: {
      200: { description: 'A page of webhooks.', schema: pageOf(webhookSchema, 'WebhookPage') },
    },
    async handle({ apiKey, query }) {
      const filter = { status: query.status, eventType: query.event_type };
      const page = await endpoints.list(apiKey.accountId, filter, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.endpoints.map(presentWebhook), page.nextCursor) };
    },
  });
}
