import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { ROTATION_ID_PREFIX, secretRotationSchema } from '@webhooks/core/endpoints/rotate-secret';
import { formatTime } from '@webhooks/core/runtime/clock';
import { defineRoute } from '../http/route';
import { webhookParams } from './webhook-params';

/** The secrets so far go on to sign for a while, so that receivers can change over. */
export function rotateWebhookSecret(endpoints: ManageEndpoints) {
  return defineRoute({
    method: 'post',
    path: '/v1/webhooks/:id/rotate-secret',
    scope: 'webhooks:write',
    request: { params: webhookParams, body: secretRotationSchema },
    creates: true,
    async handle({ apiKey, params, body, newId }) {
      const { secret, previousExpiresAt } = await endpoints.rotateSecret(
        apiKey.accountId,
        params.id,
        body,
        newId(ROTATION_ID_PREFIX),
      );
      return {
        status: 200,
        headers: { 'cache-control': 'no-store' },
        body: { secret, previous_secret_expires_at: formatTime(previousExpiresAt) },
      };
    },
  });
}
