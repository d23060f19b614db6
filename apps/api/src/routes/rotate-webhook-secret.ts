import { ROTATION_ID_PREFIX, secretRotationSchema } from '@hookferry/core/endpoints/rotate-secret';
import { formatTime, timeSchema } from '@hookferry/core/kernel/clock';
import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { defineRoute } from '../http/route';
import { webhookParams } from './params';
import { secretViewSchema } from './secret-view';

const rotatedSecretSchema = secretViewSchema
  .extend({ previous_secret_expires_at: timeSchema })
  .meta({ id: 'RotatedSecret' });

/** The secrets so far go on to sign for a while, so that receivers can change over. */
export function rotateWebhookSecret(endpoints: ManageEndpoints) {
  return defineRoute({
    operationId: 'rotateWebhookSecret',
    summary: 'Give a webhook a new secret',
    method: 'post',
    path: '/v1/webhooks/:id/rotate-secret',
    scope: 'webhooks:write',
    handlesSecret: true,
    request: { params: webhookParams, body: secretRotationSchema, mayLackBody: true },
    creates: true,
    responses: {
      200: {
        description: 'The new secret, and how long those before it go on to sign.',
        schema: rotatedSecretSchema,
      },
    },
    problems: ['conflict'],
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
