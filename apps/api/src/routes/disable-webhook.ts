import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';
import { presentWebhook, tagOf, webhookSchema } from './present-webhook';

/** Deliveries are held from now on, until it is enabled. */
export function disableWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'disableWebhook',
    summary: 'Disable a webhook: its deliveries are held',
    method: 'post',
    path: '/v1/webhooks/:id/disable',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    responses: {
      200: { description: 'The webhook as it is now.', schema: webhookSchema },
    },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.disable(apiKey.accountId, params.id);
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}
