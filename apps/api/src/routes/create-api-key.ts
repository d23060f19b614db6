import { newApiKeySchema } from '@webhooks/core/api-keys/api-key-input';
import type { ManageApiKeys } from '@webhooks/core/api-keys/manage-api-keys';
import { newApiKey } from '@webhooks/core/api-keys/new-api-key';
import { presentApiKey } from '@webhooks/core/api-keys/present-api-key';
import type { Clock } from '@webhooks/core/runtime/clock';
import { defineRoute } from '../http/route';

/** The only answer that shows the key. */
export function createApiKey(apiKeys: ManageApiKeys, clock: Clock) {
  return defineRoute({
    method: 'post',
    path: '/v1/api-keys',
    scope: 'admin',
    request: { body: newApiKeySchema(clock) },
    creates: true,
    async handle({ apiKey: { accountId }, body, newId, secretBytes, receivedAt }) {
      const issue = { key: newApiKey(newId, secretBytes), createdAt: receivedAt };
      const { key, apiKey } = await apiKeys.issue(accountId, body, issue);
      return { status: 201, body: { ...presentApiKey(apiKey), key } };
    },
  });
}
