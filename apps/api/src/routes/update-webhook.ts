import type { TargetUrlRules } from '@hookferry/core/egress/target-url';
import { endpointPatchSchema } from '@hookferry/core/endpoints/endpoint-input';
import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { maySeeSecrets } from '@hookferry/core/model/principal';
import { versionsOf } from '../http/etag';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';
import { presentWebhook, tagOf, webhookSchema } from './present-webhook';

/** A merge patch (RFC 7396): what is left out stays, `null` removes. With `If-Match`, only if nobody else changed it. */
export function updateWebhook(endpoints: ManageEndpoints, rules: TargetUrlRules) {
  return defineRoute({
    operationId: 'updateWebhook',
    summary: 'Change a webhook (a merge patch)',
    method: 'patch',
    path: '/v1/webhooks/:id',
    scope: 'webhooks:write',
    request: { params: webhookParams, body: endpointPatchSchema(rules) },
    responses: {
      200: { description: 'The webhook as it is now.', schema: webhookSchema },
    },
    problems: ['conflict', 'precondition_failed'],
    async handle({ apiKey, params, body, header }) {
      const endpoint = await endpoints.update(apiKey.accountId, params.id, body, {
        versions: versionsOf(header('if-match')),
        mayMoveSecrets: maySeeSecrets(apiKey),
      });
      return { status: 200, headers: tagOf(endpoint), body: presentWebhook(endpoint) };
    },
  });
}
