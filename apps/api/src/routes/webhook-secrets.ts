import { type Endpoint, endpointRefSchema, newestSecret } from '@hookferry/core/domain/endpoint';
import { ROTATION_ID_PREFIX, secretRotationSchema } from '@hookferry/core/endpoints/rotate-secret';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const webhookParams = z.object({ id: endpointRefSchema });

/** The form of a webhook's secret in the few responses that show it. */
export const secretViewSchema = z
  .object({
    secret: z
      .string()
      .nullable()
      .meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' })
      .describe(
        'The newest secret that signs deliveries: `whsec_` and base64. Null if `signing` is `ed25519`.',
      ),
  })
  .meta({ id: 'Secret' });

/** One that signs with Ed25519 alone has a secret too, for the day when it signs otherwise. It is shown then. */
export function secretOf(endpoint: Endpoint): string | null {
  return endpoint.signing === 'ed25519' ? null : newestSecret(endpoint).secret;
}

/** A client that may give a webhook a secret may see it: hence this scope, and not that of reading. */
export const readWebhookSecret = defineRoute({
  operationId: 'readWebhookSecret',
  summary: "Read a webhook's secret",
  method: 'get',
  path: '/v1/webhooks/:id/secret',
  scope: 'webhooks:write',
  handlesSecret: true,
  request: { params: webhookParams },
  responses: {
    200: { description: 'The newest secret that signs.', schema: secretViewSchema },
  },
  async handle({ apiKey, params }, core) {
    const endpoint = await core.endpoints.read(apiKey.accountId, params.id);
    return {
      status: 200,
      body: { secret: secretOf(endpoint) },
    };
  },
});

const rotatedSecretSchema = secretViewSchema
  .extend({
    previous_secret_expires_at: timeSchema.describe('When the former secrets stop signing.'),
  })
  .meta({ id: 'RotatedSecret' });

/** The former secrets sign for a while, so that receivers can change over. */
export const rotateWebhookSecret = defineRoute({
  operationId: 'rotateWebhookSecret',
  summary: 'Give a webhook a new secret',
  method: 'post',
  path: '/v1/webhooks/:id/rotate-secret',
  scope: 'webhooks:write',
  audit: 'webhook.rotate_secret',
  handlesSecret: true,
  request: {
    params: webhookParams,
    body: secretRotationSchema,
    mayLackBody: true,
    example: { overlap_seconds: 86_400 },
  },
  creates: true,
  responses: {
    201: {
      description: 'The new secret, and the time when the former ones stop signing.',
      schema: rotatedSecretSchema,
    },
  },
  problems: ['conflict'],
  async handle({ apiKey, params, body, newId, act }, core) {
    const { secret, previousExpiresAt } = await core.endpoints.rotateSecret(
      apiKey.accountId,
      params.id,
      body,
      newId(ROTATION_ID_PREFIX),
      act,
    );
    return {
      status: 201,
      body: { secret, previous_secret_expires_at: formatTime(previousExpiresAt) },
    };
  },
});
