import { endpointIdSchema, endpointStatusSchema } from '@webhooks/core/endpoints/endpoint';
import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { z } from 'zod';
import { pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { presentWebhook } from './present-webhook';

const querySchema = pageQuery(endpointIdSchema).extend({
  status: endpointStatusSchema.optional(),
  /** Those that asked for events of this type. */
  event_type: z.string().min(1).optional(),
});

export function listWebhooks(endpoints: ManageEndpoints) {
  return defineRoute({
    method: 'get',
    path: '/v1/webhooks',
    scope: 'webhooks:read',
    request: { query: querySchema },
    async handle({ apiKey, query }) {
      const filter = { status: query.status, eventType: query.event_type };
      const page = await endpoints.list(apiKey.accountId, filter, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.endpoints.map(presentWebhook), page.nextCursor) };
    },
  });
}
