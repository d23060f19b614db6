import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { defineRoute } from '../http/route';
import { webhookParams } from './webhook-params';

export function deleteWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    method: 'delete',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    async handle({ apiKey, params }) {
      await endpoints.remove(apiKey.accountId, params.id);
      return { status: 204 };
    },
  });
}
