import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { newestSecret } from '@hookferry/core/model/endpoint-secrets';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';
import { secretViewSchema } from './secret-view';

/** Whoever may give a webhook a secret may see it: hence the scope, and not that of reading. */
export function readWebhookSecret(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'readWebhookSecret',
    summary: "Read a webhook's secret",
    method: 'get',
    path: '/v1/webhooks/:id/secret',
    scope: 'webhooks:write',
    handlesSecret: true,
    request: { params: webhookParams },
    responses: {
      200: { description: 'The newest secret that signs.', schema: secretViewSchema },
    },
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
