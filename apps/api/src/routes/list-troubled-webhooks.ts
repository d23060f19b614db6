import { formatTimeOrNull, timeSchema } from '@hookferry/core/kernel/clock';
import { type ListTroubled, type TroubledEndpoint, troubles } from '@hookferry/core/manage/list-troubled';
import { disabledReasons } from '@hookferry/core/model/endpoint';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const querySchema = pageQuery(z.object({ id: z.string(), at: z.number() })).extend({
  state: z.enum(troubles).default('breaker_open'),
});

const troubledWebhookSchema = z
  .object({
    webhook_id: z.string(),
    account_id: z.string(),
    url: z.string().nullable().describe('Null: its record can’t be read with this key of secrets.'),
    state: z.enum(troubles).describe('In which way.'),
    reason: z
      .enum([...disabledReasons, 'failures'])
      .nullable()
      .describe('Why it is disabled, or `failures`: its last attempts all failed. Null: not on record.'),
    failures: z.int().nullable().describe('How many attempts in a row failed; null of a disabled one.'),
    since: timeSchema.nullable().describe('Since when it is disabled, or fails; null: not on record.'),
  })
  .meta({ id: 'TroubledWebhook' });

export function listTroubledWebhooks(list: ListTroubled) {
  return defineRoute({
    operationId: 'listTroubledWebhooks',
    summary: 'List webhooks of all accounts that are disabled, or whose breaker is open',
    method: 'get',
    path: '/v1/operations/webhooks',
    scope: 'admin',
    operatorOnly: true,
    request: { query: querySchema },
    responses: {
      200: {
        description: 'A page of webhooks.',
        schema: pageOf(troubledWebhookSchema, 'TroubledWebhookPage'),
      },
    },
    async handle({ query: { state, limit, cursor } }) {
      const page = await list(state, limit, cursor);
      return { status: 200, body: presentPage(page.found.map(presentTroubled), page.nextCursor) };
    },
  });
}

function presentTroubled(endpoint: TroubledEndpoint): z.infer<typeof troubledWebhookSchema> {
  const { accountId, endpointId, url, trouble, disabledReason, failures, since } = endpoint;
  return {
    webhook_id: endpointId,
    account_id: accountId,
    url: url ?? null,
    state: trouble,
    reason: trouble === 'breaker_open' ? 'failures' : (disabledReason ?? null),
    failures: failures ?? null,
    since: formatTimeOrNull(since),
  };
}
