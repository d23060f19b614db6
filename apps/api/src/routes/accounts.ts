import { ACCOUNT_ID_PREFIX, accountIdSchema } from '@hookferry/core/domain/account';
import type { AccountUsage } from '@hookferry/core/domain/usage';
import * as erasure from '@hookferry/core/operations/erase-account';
import * as accounts from '@hookferry/core/operations/manage-accounts';
import { newestFirstCursorSchema } from '@hookferry/core/platform/redis-timeline';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

export const createAccount = defineRoute({
  operationId: 'createAccount',
  summary: 'Create an account',
  method: 'post',
  path: '/v1/accounts',
  scope: 'admin',
  operatorOnly: true,
  request: { body: accounts.newAccountSchema, example: { name: 'Example Ltd' } },
  creates: true,
  responses: {
    201: { description: 'The account.', schema: accounts.accountViewSchema },
  },
  problems: ['conflict'],
  async handle({ body, newId }, context) {
    const account = await accounts.createAccount(context, body, newId(ACCOUNT_ID_PREFIX));
    return {
      status: 201,
      headers: { location: `/v1/accounts/${account.id}` },
      body: accounts.presentAccount(account),
    };
  },
});

const bytes = z.int().min(0);

const storedBytesSchema = z
  .object({ events: bytes, deliveries: bytes, answers: bytes, replays: bytes, portal_sessions: bytes })
  .describe(
    'Of those, what goes by itself with time. `answers` are those to requests with an `Idempotency-Key`.',
  )
  .meta({ id: 'StoredBytes' });

const usageSchema = z
  .object({
    used_bytes: bytes.describe('About as much as it takes up in the store: see "What counts" in the docs.'),
    quota_bytes: bytes.nullable().describe('How much it may be; `null`: as much as there is room for.'),
    bytes: storedBytesSchema,
    events: z.int().describe("In the account's list."),
    webhooks: z.int(),
    api_keys: z.int(),
  })
  .meta({ id: 'AccountUsage' });

function presentBytes({ sessions, ...others }: AccountUsage['bytes']): z.infer<typeof storedBytesSchema> {
  return { ...others, portal_sessions: sessions };
}

/** An account's usage and quota. */
function presentUsage(usage: AccountUsage): z.infer<typeof usageSchema> {
  return {
    used_bytes: usage.usedBytes,
    quota_bytes: usage.quotaBytes ?? null,
    bytes: presentBytes(usage.bytes),
    events: usage.events,
    webhooks: usage.webhooks,
    api_keys: usage.apiKeys,
  };
}

const querySchema = pageQuery(newestFirstCursorSchema).extend({
  include: z.enum(['usage']).optional(),
});

const listedAccountSchema = accounts.accountViewSchema
  .extend({ usage: usageSchema.optional().describe('How much it stores, with `include=usage`.') })
  .meta({ id: 'ListedAccount' });

export const listAccounts = defineRoute({
  operationId: 'listAccounts',
  summary: 'List accounts',
  method: 'get',
  path: '/v1/accounts',
  scope: 'admin',
  operatorOnly: true,
  request: { query: querySchema },
  responses: {
    200: { description: 'A page of accounts.', schema: pageOf(listedAccountSchema, 'AccountPage') },
  },
  async handle({ query }, context) {
    const page = await context.accountStore.list(query.limit, query.cursor);
    const listed = await Promise.all(
      page.accounts.map(async (account) => {
        const shown = accounts.presentAccount(account);
        if (query.include !== 'usage') return shown;
        return { ...shown, usage: presentUsage(await context.quota.look(account.id)) };
      }),
    );
    return { status: 200, body: presentPage(listed, page.nextCursor) };
  },
});

export const readAccount = defineRoute({
  operationId: 'readAccount',
  summary: 'Read an account',
  method: 'get',
  path: '/v1/accounts/:id',
  scope: 'admin',
  operatorOnly: true,
  request: { params: z.object({ id: accountIdSchema }) },
  responses: {
    200: { description: 'The account.', schema: accounts.accountViewSchema },
  },
  async handle({ params }, context) {
    const account = await accounts.readAccount(context, params.id);
    const remains = await accounts.readRemains(context, account);
    return { status: 200, body: accounts.presentAccount({ ...account, remains }) };
  },
});

export const updateAccount = defineRoute({
  operationId: 'updateAccount',
  summary: "Change an account's weight",
  method: 'patch',
  path: '/v1/accounts/:id',
  scope: 'admin',
  operatorOnly: true,
  request: {
    params: z.object({ id: accountIdSchema }),
    body: accounts.accountPatchSchema,
    example: { weight: 2 },
  },
  responses: {
    200: { description: 'The account.', schema: accounts.accountViewSchema },
  },
  async handle({ params, body }, context) {
    return {
      status: 200,
      body: accounts.presentAccount(await accounts.updateAccount(context, params.id, body)),
    };
  },
});

/** With all that it owns, in the background. Repeating it changes nothing. */
export const eraseAccount = defineRoute({
  operationId: 'eraseAccount',
  summary: 'Erase an account with all that it owns',
  method: 'delete',
  path: '/v1/accounts/:id',
  scope: 'admin',
  operatorOnly: true,
  request: { params: z.object({ id: accountIdSchema }) },
  responses: {
    202: {
      description: 'Its keys and webhooks are gone; the rest goes in the background.',
      schema: accounts.accountViewSchema,
    },
  },
  problems: ['conflict'],
  async handle({ params }, context) {
    return { status: 202, body: accounts.presentAccount(await erasure.eraseAccount(context, params.id)) };
  },
});

export const readAccountUsage = defineRoute({
  operationId: 'readAccountUsage',
  summary: 'Read how much the account stores, and how much it may',
  method: 'get',
  path: '/v1/account/usage',
  scope: 'any',
  request: {},
  responses: {
    200: { description: 'How much it stores.', schema: usageSchema },
  },
  async handle({ apiKey }, context) {
    return { status: 200, body: presentUsage(await context.quota.look(apiKey.accountId)) };
  },
});
