import { newestSecret } from '@webhooks/core/endpoints/endpoint-secrets';
import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { defineRoute } from '../http/route';
import { webhookParams } from './webhook-params';

/** Whoever may give a webhook a secret may see it: hence the scope, and not that of reading. */
export function readWebhookSecret(endpoints: ManageEndpoints) {
  return defineRoute({
    method: 'get',
    path: '/v1/webhooks/:id/secret',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.read(apiKey.accountId, params.id);
      return {
        status: 200,
        headers: { 'cache-control': 'no-store' },
        body: { secret: newestSecret(endpoint).secret },
      };
    },
  });
}
