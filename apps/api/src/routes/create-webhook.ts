import type { TargetUrlRules } from '@hookferry/core/egress/target-url';
import { newEndpointSchema } from '@hookferry/core/endpoints/endpoint-input';
import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { ENDPOINT_ID_PREFIX, type EndpointId } from '@hookferry/core/model/endpoint';
import { newestSecret } from '@hookferry/core/model/endpoint-secrets';
import { defineRoute } from '../http/route';
import { presentWebhook, tagOf, webhookSchema } from './present-webhook';
import { secretViewSchema } from './secret-view';

const createdWebhookSchema = webhookSchema.extend(secretViewSchema.shape).meta({ id: 'CreatedWebhook' });

export function createWebhook(endpoints: ManageEndpoints, rules: TargetUrlRules) {
  return defineRoute({
    operationId: 'createWebhook',
    summary: 'Register a webhook',
    method: 'post',
    path: '/v1/webhooks',
    scope: 'webhooks:write',
    request: { body: newEndpointSchema(rules) },
    creates: true,
    stores: 'other',
    responses: {
      201: {
        description: 'The webhook, and for the only time beside it its secret.',
        schema: createdWebhookSchema,
      },
    },
    problems: ['conflict', 'limit_reached'],
    async handle({ apiKey, body, newId }) {
      const id = newId(ENDPOINT_ID_PREFIX) as EndpointId;
      const endpoint = await endpoints.create(apiKey.accountId, body, id);
      return {
        status: 201,
        headers: { location: `/v1/webhooks/${endpoint.id}`, ...tagOf(endpoint) },
        body: { ...presentWebhook(endpoint), secret: newestSecret(endpoint).secret },
      };
    },
  });
}
