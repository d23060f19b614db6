import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import type { ReadHealth } from '@hookferry/core/manage/read-health';
import { endpointIdSchema, endpointStatusSchema } from '@hookferry/core/model/endpoint';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { healthSchema, presentHealth } from './present-health';
import { presentWebhook, webhookSchema } from './present-webhook';

const querySchema = pageQuery(endpointIdSchema).extend({
  status: endpointStatusSchema.optional(),
  /** Those that asked for events of this type. */
  event_type: z.string().min(1).optional(),
  include: z.enum(['health']).optional(),
});

const listedWebhookSchema = webhookSchema
  .extend({ health: healthSchema.optional().describe('How it is doing, with `include=health`.') })
  .meta({ id: 'ListedWebhook' });

export function listWebhooks(endpoints: ManageEndpoints, readHealth: ReadHealth) {
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
      200: { description: 'A page of webhooks.', schema: pageOf(listedWebhookSchema, 'WebhookPage') },
    },
    async handle({ apiKey, query }) {
      const filter = { status: query.status, eventType: query.event_type };
      const page = await endpoints.list(apiKey.accountId, filter, query.limit, query.cursor);
      const webhooks = await Promise.all(
        page.endpoints.map(async (endpoint) => {
          const webhook = presentWebhook(endpoint);
          if (query.include !== 'health') return webhook;
          return { ...webhook, health: presentHealth(await readHealth(endpoint)) };
        }),
      );
      return { status: 200, body: presentPage(webhooks, page.nextCursor) };
    },
  });
}
