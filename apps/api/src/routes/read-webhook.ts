import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { defineRoute } from '../http/route';
import { presentWebhook, tagOf } from './present-webhook';
import { webhookParams } from './webhook-params';

export function readWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    method: 'get',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:read',
    request: { params: webhookParams },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.read(apiKey.accountId, params.id);
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}
