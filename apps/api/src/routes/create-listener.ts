import { listenerMembers, renameMembers } from '@hookferry/core/endpoints/endpoint-input';
import type { ManageListeners } from '@hookferry/core/listeners/manage-listeners';
import { newestSecret } from '@hookferry/core/model/endpoint-secrets';
import { z } from 'zod';
import { defineRoute } from '../http/route';
import { sentTimeSchema } from '../http/time-range';
import { presentWebhook, webhookSchema } from './present-webhook';
import { secretViewSchema } from './secret-view';

const NAME_FORM = 'must be 1 to 63 of a-z 0-9 - and begin and end with a letter or digit';

const bodySchema = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, NAME_FORM),
    ...listenerMembers,
    since: sentTimeSchema.optional(),
  })
  .transform(renameMembers)
  .meta({ id: 'NewListener' });

const listenerSchema = webhookSchema.extend(secretViewSchema.shape).meta({ id: 'Listener' });

/** Of one that is there already it shows the secret. Not `creates`: its name is what makes it one, however often it is asked for. */
export function createListener(listeners: ManageListeners) {
  return defineRoute({
    operationId: 'createListener',
    summary: 'Make a listener, or have it go on where it was',
    method: 'post',
    path: '/v1/listeners',
    scope: 'webhooks:write',
    handlesSecret: true,
    request: { body: bodySchema },
    stores: 'other',
    responses: {
      200: {
        description:
          'The listener: a webhook whose deliveries are taken over `GET /v1/listeners/{id}/stream`.',
        schema: listenerSchema,
      },
    },
    problems: ['conflict', 'limit_reached', 'replays_running'],
    async handle({ apiKey, body }) {
      const endpoint = await listeners.create(apiKey.accountId, body);
      return {
        status: 200,
        headers: { 'cache-control': 'no-store' },
        body: { ...presentWebhook(endpoint), secret: newestSecret(endpoint).secret },
      };
    },
  });
}
