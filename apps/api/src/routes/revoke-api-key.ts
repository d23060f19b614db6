import type { ManageApiKeys } from '@hookferry/core/accounts/manage-api-keys';
import { apiKeyIdSchema } from '@hookferry/core/model/api-key';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const querySchema = z.strictObject({
  last: z
    .enum(['true', 'false'])
    .default('false')
    .describe(
      'Whether it may be the last key of the account with the scope "admin". Only the operator can issue another then.',
    ),
});

/** Takes effect with the next request, in every process; also for the key that asks for it. */
export function revokeApiKey(apiKeys: ManageApiKeys) {
  return defineRoute({
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key',
    method: 'delete',
    path: '/v1/api-keys/:id',
    scope: 'admin',
    request: { params: z.object({ id: apiKeyIdSchema }), query: querySchema },
    responses: {
      204: { description: 'It no longer counts.' },
    },
    problems: ['last_admin_key'],
    async handle({ apiKey, params, query }) {
      await apiKeys.revoke(apiKey.accountId, params.id, { mayBeLast: query.last === 'true' });
      return { status: 204 };
    },
  });
}
