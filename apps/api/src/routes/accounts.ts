import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import { ACCOUNT_ID_PREFIX, type AccountId, accountIdSchema } from '@hookferry/core/domain/account';
import type { AccountUsage } from '@hookferry/core/domain/usage';
import type { PgDatabase } from '@hookferry/core/history/database/pg-database';
import { readBytes } from '@hookferry/core/history/database/pg-usage';
import * as erasure from '@hookferry/core/operations/erase-account';
import * as accounts from '@hookferry/core/operations/manage-accounts';
import { AppError } from '@hookferry/core/platform/app-error';
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
  audit: 'account.create',
  operatorOnly: true,
  request: { body: accounts.newAccountSchema, example: { name: 'Example Ltd' } },
  creates: true,
  responses: {
    201: { description: 'The account.', schema: accounts.accountViewSchema },
  },
  problems: ['conflict'],
  async handle({ body, newId, act }, context) {
    const account = await accounts.createAccount(context, body, newId(ACCOUNT_ID_PREFIX), act);
    return {
      status: 201,
      headers: { location: `/v1/accounts/${account.id}` },
      body: accounts.presentAccount(account),
    };
  },
});

const bytes = z.int().min(0);

const storedBytesSchema = z
  .object({
    events: bytes.describe('Bytes of events.'),
    deliveries: bytes.describe('Bytes of deliveries, with their attempts.'),
    answers: bytes.describe('Bytes of the responses that are kept for requests with an `Idempotency-Key`.'),
    replays: bytes.describe('Bytes of the records of replays.'),
    portal_sessions: bytes.describe('Bytes of portal sessions that have not ended, with their logos.'),
  })
  .describe('The stored bytes that expire by themselves, by kind.')
  .meta({ id: 'StoredBytes' });

const usageSchema = z
  .object({
    used_bytes: bytes.describe(
      'About how many bytes the account takes up in Redis: see "What counts" in the docs.',
    ),
    redis_bytes: bytes.describe('The same as `used_bytes`.'),
    history_bytes: bytes
      .nullable()
      .optional()
      .describe(
        'About how many bytes the account takes up in PostgreSQL. Null: PostgreSQL is not reachable. Absent: there is no history.',
      ),
    quota_bytes: bytes
      .nullable()
      .describe('How many bytes the account may take up in Redis. Null: no limit.'),
    bytes: storedBytesSchema.describe('The bytes that expire by themselves, by kind.'),
    events: z.int().describe("How many events are in the account's list."),
    webhooks: z.int().describe('How many webhooks the account has.'),
    api_keys: z.int().describe('How many API keys the account has.'),
  })
  .meta({ id: 'AccountUsage' });

interface UsageContext {
  readonly quota: Pick<AccountQuota, 'look'>;
  /** Absent: there is no history. */
  readonly historyDatabase?: PgDatabase | undefined;
}

/** The usage and quota of each account. */
async function readUsages(context: UsageContext, accountIds: readonly AccountId[]) {
  const historyBytes = await readHistoryBytes(context, accountIds);
  const usages = await Promise.all(accountIds.map((id) => context.quota.look(id)));
  return usages.map((usage, i) => presentUsage(usage, historyBytes[i]));
}

/** `null` each while the history is away; `undefined` without one. */
async function readHistoryBytes(
  { historyDatabase }: UsageContext,
  accountIds: readonly AccountId[],
): Promise<readonly (number | null | undefined)[]> {
  if (!historyDatabase) return accountIds.map(() => undefined);
  try {
    return await readBytes(historyDatabase, accountIds);
  } catch (error) {
    if (error instanceof AppError && error.code === 'history_unavailable') return accountIds.map(() => null);
    throw error;
  }
}

function presentUsage(
  usage: AccountUsage,
  historyBytes: number | null | undefined,
): z.infer<typeof usageSchema> {
  return {
    used_bytes: usage.usedBytes,
    redis_bytes: usage.usedBytes,
    ...(historyBytes === undefined ? {} : { history_bytes: historyBytes }),
    quota_bytes: usage.quotaBytes ?? null,
    bytes: presentBytes(usage.bytes),
    events: usage.events,
    webhooks: usage.webhooks,
    api_keys: usage.apiKeys,
  };
}

function presentBytes({ sessions, ...others }: AccountUsage['bytes']): z.infer<typeof storedBytesSchema> {
  return { ...others, portal_sessions: sessions };
}

const querySchema = pageQuery(newestFirstCursorSchema).extend({
  include: z
    .enum(['usage'])
    .optional()
    .describe('`usage`: each account of the list has its usage. Default: none has.'),
});

const listedAccountSchema = accounts.accountViewSchema
  .extend({
    usage: usageSchema.optional().describe('How much the account stores. Present with `include=usage`.'),
  })
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
    const shown = page.accounts.map((account) => accounts.presentAccount(account));
    if (query.include !== 'usage') return { status: 200, body: presentPage(shown, page.nextCursor) };
    const ids = page.accounts.map(({ id }) => id);
    const usages = await readUsages(context, ids);
    const listed = shown.map((account, i) => ({ ...account, usage: usages[i] }));
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
  summary: 'Change an account',
  method: 'patch',
  path: '/v1/accounts/:id',
  scope: 'admin',
  audit: 'account.update',
  operatorOnly: true,
  request: {
    params: z.object({ id: accountIdSchema }),
    body: accounts.accountPatchSchema,
    example: { weight: 2 },
  },
  responses: {
    200: { description: 'The account.', schema: accounts.accountViewSchema },
  },
  async handle({ params, body, act }, context) {
    return {
      status: 200,
      body: accounts.presentAccount(await accounts.updateAccount(context, params.id, body, act)),
    };
  },
});

/** With all that it owns, in the background. Repeating it changes nothing. */
export const eraseAccount = defineRoute({
  operationId: 'eraseAccount',
  summary: 'Erase an account and everything that it owns',
  method: 'delete',
  path: '/v1/accounts/:id',
  scope: 'admin',
  audit: 'account.erase',
  operatorOnly: true,
  request: { params: z.object({ id: accountIdSchema }) },
  responses: {
    202: {
      description: 'The account. Its keys and webhooks are deleted; the rest is erased in the background.',
      schema: accounts.accountViewSchema,
    },
  },
  problems: ['conflict'],
  async handle({ params, act }, context) {
    const account = await erasure.eraseAccount(context, params.id, act);
    return { status: 202, body: accounts.presentAccount(account) };
  },
});

export const readAccountUsage = defineRoute({
  operationId: 'readAccountUsage',
  summary: 'Read how much the account stores, and its quota',
  method: 'get',
  path: '/v1/account/usage',
  scope: 'any',
  request: {},
  responses: {
    200: { description: 'The usage of the account.', schema: usageSchema },
  },
  async handle({ apiKey }, context) {
    const [usage] = await readUsages(context, [apiKey.accountId]);
    return { status: 200, body: usage };
  },
});
