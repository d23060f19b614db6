import { newApiKeySchema } from '@hookferry/core/accounts/api-key-input';
import type { ManageApiKeys } from '@hookferry/core/accounts/manage-api-keys';
import { newApiKey } from '@hookferry/core/accounts/new-credential';
import { apiKeyViewSchema, presentApiKey } from '@hookferry/core/accounts/present-api-key';
import type { Clock } from '@hookferry/core/kernel/clock';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const issuedApiKeySchema = apiKeyViewSchema.extend({ key: z.string() }).meta({ id: 'IssuedApiKey' });

/** The only answer that shows the key. */
export function createApiKey(apiKeys: ManageApiKeys, clock: Clock) {
  return defineRoute({
    operationId: 'createApiKey',
    summary: 'Issue an API key',
    method: 'post',
    path: '/v1/api-keys',
    scope: 'admin',
    request: { body: newApiKeySchema(clock) },
    creates: true,
    stores: 'other',
    responses: {
      201: { description: 'The key, which no other answer shows.', schema: issuedApiKeySchema },
    },
    async handle({ apiKey: { accountId }, body, newId, secretBytes, receivedAt }) {
      const issue = { key: newApiKey(newId, secretBytes), createdAt: receivedAt };
      const { key, apiKey } = await apiKeys.issue(accountId, body, issue);
      return { status: 201, body: { ...presentApiKey(apiKey), key } };
    },
  });
}
