import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { defineRoute } from '../http/route';
import { presentWebhook, tagOf } from './present-webhook';
import { webhookParams } from './webhook-params';

/** What was held flows at once. */
export function enableWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    method: 'post',
    path: '/v1/webhooks/:id/enable',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.enable(apiKey.accountId, params.id);
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}
