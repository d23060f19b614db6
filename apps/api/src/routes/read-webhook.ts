import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import type { ReadHealth } from '@hookferry/core/manage/read-health';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';
import { healthSchema, presentHealth } from './present-health';
import { presentWebhook, tagOf, webhookSchema } from './present-webhook';

const webhookWithHealthSchema = webhookSchema
  .extend({ health: healthSchema })
  .meta({ id: 'WebhookWithHealth' });

/** Read alone, it also says how it is doing. */
export function readWebhook(endpoints: ManageEndpoints, readHealth: ReadHealth) {
  return defineRoute({
    operationId: 'readWebhook',
    summary: 'Read a webhook, and how it is doing',
    method: 'get',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:read',
    request: { params: webhookParams },
    responses: {
      200: { description: 'The webhook.', schema: webhookWithHealthSchema },
    },
    async handle({ apiKey, params }) {
      const endpoint = await endpoints.read(apiKey.accountId, params.id);
      const health = presentHealth(await readHealth(endpoint));
      return { status: 200, headers: tagOf(endpoint), body: { ...presentWebhook(endpoint), health } };
    },
  });
}
