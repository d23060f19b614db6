import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';

export function deleteWebhook(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    method: 'delete',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:write',
    request: { params: webhookParams },
    responses: {
      204: { description: 'It is gone, and what was pending for it is cancelled.' },
    },
    async handle({ apiKey, params }) {
      await endpoints.remove(apiKey.accountId, params.id);
      return { status: 204 };
    },
  });
}
