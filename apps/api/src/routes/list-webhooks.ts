import { endpointIdSchema } from '@webhooks/core/endpoints/endpoint';
import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';
import { presentWebhook } from './present-webhook';

export function listWebhooks(endpoints: ManageEndpoints) {
  return defineRoute({
    method: 'get',
    path: '/v1/webhooks',
    scope: 'webhooks:read',
    request: { query: pageQuery(endpointIdSchema) },
    async handle({ apiKey, query }) {
      const page = await endpoints.list(apiKey.accountId, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.endpoints.map(presentWebhook), page.nextCursor) };
    },
  });
}
