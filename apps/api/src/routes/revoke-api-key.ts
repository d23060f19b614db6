import { apiKeyIdSchema } from '@webhooks/core/api-keys/api-key';
import type { ManageApiKeys } from '@webhooks/core/api-keys/manage-api-keys';
import { z } from 'zod';
import { defineRoute } from '../http/route';

/** Takes effect with the next request, in every process; also for the key that asks for it. */
export function revokeApiKey(apiKeys: ManageApiKeys) {
  return defineRoute({
    method: 'delete',
    path: '/v1/api-keys/:id',
    scope: 'admin',
    request: { params: z.object({ id: apiKeyIdSchema }) },
    async handle({ apiKey, params }) {
      await apiKeys.revoke(apiKey.accountId, params.id);
      return { status: 204 };
    },
  });
}
