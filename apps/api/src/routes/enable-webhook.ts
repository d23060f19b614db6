import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';
import { presentWebhook, tagOf, webhookSchema } from './present-webhook';

/** What was held flows at once. */
export function enableWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'enableWebhook',
    summary: 'Enable a webhook: what was held flows',
    method: 'post',
    path: '/v1/webhooks/:id/enable',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    responses: {
      200: { description: 'The webhook as it is now.', schema: webhookSchema },
    },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.enable(apiKey.accountId, params.id);
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}
