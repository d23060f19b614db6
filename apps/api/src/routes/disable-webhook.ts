import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { defineRoute } from '../http/route';
import { presentWebhook, tagOf } from './present-webhook';
import { webhookParams } from './webhook-params';

/** Deliveries are held from now on, until it is enabled. */
export function disableWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    method: 'post',
    path: '/v1/webhooks/:id/disable',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.disable(apiKey.accountId, params.id);
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}
