import {
  accountPatchSchema,
  accountViewSchema,
  newAccountSchema,
  presentAccount,
} from '@hookferry/core/accounts/accounts';
import { ACCOUNT_ID_PREFIX, accountIdSchema } from '@hookferry/core/domain/account';
import { pauseReasonSchema } from '@hookferry/core/domain/pause';
import type { AccountUsage } from '@hookferry/core/domain/usage';
import type { AccountPausing } from '@hookferry/core/operations/account-pauses';
import type { WholeUsage } from '@hookferry/core/operations/operations';
import { newestFirstCursorSchema } from '@hookferry/core/platform/redis-timeline';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

export const createAccount = defineRoute({
  operationId: 'createAccount',
  summary: 'Create an account',
  method: 'post',
  path: '/v1/accounts',
  scope: 'accounts:act',
  audit: 'account.create',
  operatorOnly: true,
  request: { body: newAccountSchema, example: { name: 'Example Ltd' } },
  creates: true,
  responses: {
    201: { description: 'The account.', schema: accountViewSchema },
  },
  problems: ['conflict'],
  async handle({ body, newId, act }, core) {
    const account = await core.accounts.create(body, newId(ACCOUNT_ID_PREFIX), act);
    return {
      status: 201,
      headers: { location: `/v1/accounts/${account.id}` },
      body: presentAccount(account),
    };
  },
});

const bytes = z.int().min(0);

const storedBytesSchema = z
  .object({
    events: bytes.describe('Bytes of events.'),
    deliveries: bytes.describe('Bytes of deliveries, with their attempts.'),
    responses: bytes.describe('Bytes of the responses that are kept for requests with an `Idempotency-Key`.'),
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
      .describe(
        'About how many bytes the account takes up in PostgreSQL. Null: there is no history, or `history` is `unavailable`.',
      ),
    history: z
      .literal('unavailable')
      .nullable()
      .describe(
        '`unavailable`: PostgreSQL is not reachable at the moment. Null: it is, or there is no history.',
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

function presentUsage({ usage, historyBytes }: WholeUsage): z.infer<typeof usageSchema> {
  return {
    used_bytes: usage.usedBytes,
    redis_bytes: usage.usedBytes,
    history_bytes: historyBytes ?? null,
    history: historyBytes === null ? 'unavailable' : null,
    quota_bytes: usage.quotaBytes ?? null,
    bytes: presentBytes(usage.bytes),
    events: usage.events,
    webhooks: usage.webhooks,
    api_keys: usage.apiKeys,
  };
}

function presentBytes(stored: AccountUsage['bytes']): z.infer<typeof storedBytesSchema> {
  const { events, deliveries, answers, replays, sessions } = stored;
  return { events, deliveries, responses: answers, replays, portal_sessions: sessions };
}

const include = z
  .enum(['usage'])
  .optional()
  .describe('`usage`: each account of the response has its usage. Default: none has.');
const querySchema = pageQuery(newestFirstCursorSchema).extend({ include });

const accountWithUsageSchema = accountViewSchema
  .extend({
    usage: usageSchema.optional().describe('How much the account stores. Present with `include=usage`.'),
  })
  .meta({ id: 'AccountWithUsage' });

export const listAccounts = defineRoute({
  operationId: 'listAccounts',
  summary: 'List accounts',
  method: 'get',
  path: '/v1/accounts',
  scope: 'accounts:act',
  operatorOnly: true,
  request: { query: querySchema },
  responses: {
    200: { description: 'A page of accounts.', schema: pageOf(accountWithUsageSchema, 'AccountPage') },
  },
  async handle({ query }, core) {
    const page = await core.accounts.list(query.limit, query.cursor);
    const shown = page.accounts.map(presentAccount);
    if (query.include !== 'usage') return { status: 200, body: presentPage(shown, page.nextCursor) };
    const ids = page.accounts.map(({ id }) => id);
    const usages = (await core.operations.readUsages(ids)).map(presentUsage);
    const listed = shown.map((account, i) => ({ ...account, usage: usages[i] }));
    return { status: 200, body: presentPage(listed, page.nextCursor) };
  },
});

export const readAccount = defineRoute({
  operationId: 'readAccount',
  summary: 'Read an account',
  method: 'get',
  path: '/v1/accounts/:id',
  scope: 'accounts:act',
  operatorOnly: true,
  request: { params: z.object({ id: accountIdSchema }), query: z.strictObject({ include }) },
  responses: {
    200: { description: 'The account.', schema: accountWithUsageSchema },
  },
  async handle({ params, query }, core) {
    const account = await core.accounts.read(params.id);
    const shown = presentAccount({ ...account, remains: await core.accountErasure.remains(account) });
    if (query.include !== 'usage') return { status: 200, body: shown };
    const [usage] = await core.operations.readUsages([account.id]);
    return { status: 200, body: { ...shown, usage: usage && presentUsage(usage) } };
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
    body: accountPatchSchema,
    example: { weight: 2 },
  },
  responses: {
    200: { description: 'The account.', schema: accountViewSchema },
  },
  async handle({ params, body, act }, core) {
    const account = await core.accounts.update(params.id, body, act);
    return { status: 200, body: presentAccount(account) };
  },
});

export const pauseBodySchema = z
  .strictObject({
    reason: pauseReasonSchema
      .optional()
      .describe('Why, for other operators and the audit log: up to 300 characters. Default: none.'),
  })
  .meta({ id: 'PauseRequest' });

const pausingSchema = accountViewSchema
  .extend({
    webhooks_changed: z
      .int()
      .describe(
        'How many webhooks this request disabled or enabled. Those that were so before do not count.',
      ),
  })
  .meta({ id: 'AccountPausing' });

/** One that is paused already stays as it is: only webhooks that were enabled since are disabled. */
export const pauseAccount = defineRoute({
  operationId: 'pauseAccount',
  summary: 'Pause the deliveries of an account',
  method: 'post',
  path: '/v1/accounts/:id/pause',
  scope: 'admin',
  audit: 'account.pause',
  operatorOnly: true,
  request: {
    params: z.object({ id: accountIdSchema }),
    body: pauseBodySchema,
    example: { reason: 'Its receivers are down' },
    mayLackBody: true,
  },
  responses: {
    200: {
      description: 'The account. Its events are accepted, and its deliveries are held.',
      schema: pausingSchema,
    },
  },
  async handle({ params, body, act }, core) {
    const { newId } = core;
    return {
      status: 200,
      body: presentPausing(await core.accountPauses.pause(params.id, body.reason, { act, newId })),
    };
  },
});

/** Repeating it changes nothing. */
export const resumeAccount = defineRoute({
  operationId: 'resumeAccount',
  summary: 'Resume the deliveries of an account',
  method: 'post',
  path: '/v1/accounts/:id/resume',
  scope: 'admin',
  audit: 'account.resume',
  operatorOnly: true,
  request: { params: z.object({ id: accountIdSchema }) },
  responses: {
    200: {
      description:
        'The account. The webhooks that the pause disabled are enabled, and their held deliveries are sent.',
      schema: pausingSchema,
    },
  },
  async handle({ params, act }, core) {
    const { newId } = core;
    return { status: 200, body: presentPausing(await core.accountPauses.resume(params.id, { act, newId })) };
  },
});

function presentPausing({ account, changed }: AccountPausing): z.infer<typeof pausingSchema> {
  return { ...presentAccount(account), webhooks_changed: changed };
}

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
      schema: accountViewSchema,
    },
  },
  problems: ['conflict'],
  async handle({ params, act }, core) {
    const account = await core.accountErasure.begin(params.id, act);
    return { status: 202, body: presentAccount(account) };
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
  async handle({ apiKey }, core) {
    const [usage] = await core.operations.readUsages([apiKey.accountId]);
    return { status: 200, body: usage && presentUsage(usage) };
  },
});
