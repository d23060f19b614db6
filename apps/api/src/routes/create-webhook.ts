import type { TargetUrlRules } from '@webhooks/core/egress/target-url';
import { newEndpointSchema } from '@webhooks/core/endpoints/endpoint-input';
import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { defineRoute } from '../http/route';
import { presentWebhook, tagOf } from './present-webhook';

export function createWebhook(endpoints: ManageEndpoints, rules: TargetUrlRules) {
  return defineRoute({
    method: 'post',
    path: '/v1/webhooks',
    scope: 'webhooks:write',
    request: { body: newEndpointSchema(rules) },
    async handle({ apiKey, body }) {
      const endpoint = await endpoints.create(apiKey.accountId, body);
      return {
        status: 201,
        headers: { location: `/v1/webhooks/${endpoint.id}`, ...tagOf(endpoint) },
        body: { ...presentWebhook(endpoint), secret: endpoint.secret },
      };
    },
  });
}
