import type { TargetUrlRules } from '@webhooks/core/egress/target-url';
import { endpointPatchSchema } from '@webhooks/core/endpoints/endpoint-input';
import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { defineRoute } from '../http/route';
import { presentWebhook } from './present-webhook';
import { webhookParams } from './webhook-params';

/** A merge patch (RFC 7396): what is left out stays, `null` removes. */
export function updateWebhook(endpoints: ManageEndpoints, rules: TargetUrlRules) {
  return defineRoute({
    method: 'patch',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:write',
    request: { params: webhookParams, body: endpointPatchSchema(rules) },
    async handle({ apiKey, params, body }) {
      const endpoint = await endpoints.update(apiKey.accountId, params.id, body);
      return { status: 200, body: presentWebhook(endpoint) };
    },
  });
}
