import {
  apiKeyViewSchema,
  newApiKey,
  newApiKeySchema,
  presentApiKey,
} from '@hookferry/core/accounts/api-keys';
import { apiKeyIdSchema } from '@hookferry/core/domain/account';
import { formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { newestFirstCursorSchema } from '@hookferry/core/platform/redis-timeline';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const issuedApiKeySchema = apiKeyViewSchema
  .extend({
    key: z.string().describe('The API key, to send as `Authorization: Bearer`. No other response shows it.'),
  })
  .meta({ id: 'IssuedApiKey' });

/** The only response that shows the key. */
export const createApiKey = defineRoute({
  operationId: 'createApiKey',
  summary: 'Issue an API key',
  method: 'post',
  path: '/v1/api-keys',
  scope: 'admin',
  audit: 'api_key.create',
  request: {
    body: ({ clock }) => newApiKeySchema(clock),
    example: { name: 'ci', scopes: ['events:write', 'webhooks:read'], expires_at: '2099-01-01T00:00:00Z' },
  },
  creates: true,
  stores: 'other',
  responses: {
    201: { description: 'The key. No other response shows it.', schema: issuedApiKeySchema },
  },
  async handle({ apiKey: { accountId }, body, newId, secretBytes, receivedAt, act }, core) {
    const issue = { key: newApiKey(newId, secretBytes), createdAt: receivedAt };
    const { key, apiKey } = await core.apiKeys.issue(accountId, body, issue, act);
    return { status: 201, body: { ...presentApiKey(apiKey), key } };
  },
});

const DAY_SECONDS = 86_400;
const MAX_OVERLAP_DAYS = 30;

const rotationSchema = z
  .strictObject({
    overlap_seconds: z
      .int()
      .min(0)
      .max(MAX_OVERLAP_DAYS * DAY_SECONDS)
      .default(DAY_SECONDS)
      .describe(
        'For how many seconds the former key goes on working: 0 to 2,592,000 (30 days). Default: 86,400 (1 day).',
      ),
  })
  .meta({ id: 'ApiKeyRotation' });

/** Portal sessions that the former key made go on, unless the former key is revoked. */
export const rotateApiKey = defineRoute({
  operationId: 'rotateApiKey',
  summary: 'Issue a key in the place of another one',
  method: 'post',
  path: '/v1/api-keys/:id/rotate',
  scope: 'admin',
  audit: 'api_key.rotate',
  request: {
    params: z.object({ id: apiKeyIdSchema }),
    body: rotationSchema,
    mayLackBody: true,
    example: { overlap_seconds: DAY_SECONDS },
  },
  creates: true,
  stores: 'other',
  responses: {
    201: {
      description: 'The new key, with the same name, scopes and event types. No other response shows it.',
      schema: issuedApiKeySchema
        .extend({ former_expires_at: timeSchema.describe('When the former key stops working.') })
        .meta({ id: 'RotatedApiKey' }),
    },
  },
  problems: ['conflict'],
  async handle({ apiKey: { accountId }, params, body, newId, secretBytes, receivedAt, act }, core) {
    const issue = { key: newApiKey(newId, secretBytes), createdAt: receivedAt };
    const overlapMs = body.overlap_seconds * 1_000;
    const { key, apiKey, former } = await core.apiKeys.rotate(accountId, params.id, issue, {
      overlapMs,
      act,
    });
    const formerExpiresAt = formatTimeOrNull(former.expiresAt);
    return { status: 201, body: { ...presentApiKey(apiKey), key, former_expires_at: formerExpiresAt } };
  },
});

export const listApiKeys = defineRoute({
  operationId: 'listApiKeys',
  summary: 'List API keys',
  method: 'get',
  path: '/v1/api-keys',
  scope: 'admin',
  request: { query: pageQuery(newestFirstCursorSchema) },
  responses: {
    200: { description: 'A page of API keys.', schema: pageOf(apiKeyViewSchema, 'ApiKeyPage') },
  },
  async handle({ apiKey, query }, core) {
    const page = await core.apiKeys.list(apiKey.accountId, query.limit, query.cursor);
    return { status: 200, body: presentPage(page.apiKeys.map(presentApiKey), page.nextCursor) };
  },
});

const querySchema = z.strictObject({
  last: z
    .enum(['true', 'false'])
    .default('false')
    .describe(
      'Whether the last key of the account with the scope `admin` may be revoked. Only the operator can issue another one then. Default: `false`.',
    ),
});

/** Takes effect with the next request, in every process; also for the requesting key. */
export const revokeApiKey = defineRoute({
  operationId: 'revokeApiKey',
  summary: 'Revoke an API key',
  method: 'delete',
  path: '/v1/api-keys/:id',
  scope: 'admin',
  audit: 'api_key.revoke',
  request: { params: z.object({ id: apiKeyIdSchema }), query: querySchema },
  responses: {
    204: { description: 'The key is revoked. It is refused from the next request on.' },
  },
  problems: ['last_admin_key'],
  async handle({ apiKey, params, query, act }, core) {
    const mayBeLast = query.last === 'true';
    await core.apiKeys.revoke(apiKey.accountId, params.id, { mayBeLast, act });
    return { status: 204 };
  },
});
