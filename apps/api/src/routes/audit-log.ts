import { requireOperator } from '@hookferry/core/accounts/resolve-account';
import { type AuditQuery, readAuditLog } from '@hookferry/core/audit/read-audit-log';
import { historyUnavailable } from '@hookferry/core/database/pg-database';
import { accountIdSchema, type Principal } from '@hookferry/core/domain/account';
import {
  type AuditEntry,
  auditActorSchema,
  auditIdSchema,
  fieldChangeSchema,
  targetTypeOf,
} from '@hookferry/core/domain/audit';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import type { Connection } from '@hookferry/core/platform/recheck';
import { z } from 'zod';
import type { ApiContext } from '../context';
import { credentialsIn, mayGoOn, whileAllowed } from '../http/long-requests';
import {
  cursorSchema,
  encodeCursor,
  historyPageOf,
  isInOrder,
  limitSchema,
  pageQuery,
  presentHistoryPage,
  timeRangeQuery,
} from '../http/page';
import { codeSchema } from '../http/problem';
import { defineRoute } from '../http/route';

const SCOPE = 'audit:read';

const textFilter = z.string().min(1).max(200);

const filterShape = {
  account_id: z
    .union([z.literal('*'), accountIdSchema])
    .optional()
    .describe("For operators: another account's log; `*`: that of all accounts."),
  actor: textFilter
    .optional()
    .describe('The id of an API key or a portal session, a system user, or a type of actor.'),
  action: z
    .string()
    .regex(/^[a-z_]+\.([a-z_]+|\*)$/, 'must be an action such as webhook.update, or webhook.*')
    .optional()
    .describe('One action, such as `webhook.update`, or all of a noun: `webhook.*`.'),
  target: textFilter.optional().describe('The id of what it was about.'),
  ...timeRangeQuery,
};

const entrySchema = z
  .object({
    id: z
      .string()
      .meta({ example: 'aud_01m8cze70423p1gcwqh466' })
      .describe('The id of the entry. Later ones sort behind it.'),
    account_id: z.string().nullable().describe('Whose log it is in. Null: of somebody who is of no account.'),
    at: timeSchema.describe('When it was done or refused.'),
    actor: auditActorSchema.describe('Who did it.'),
    action: z.string().meta({ example: 'webhook.update' }).describe('What was done, as a noun and a verb.'),
    target: z
      .object({
        type: z.string().describe('The noun of the action.'),
        id: z.string().describe('The id of the object.'),
      })
      .nullable()
      .describe('What it was about.'),
    outcome: z.enum(['ok', 'refused']).describe('Whether it was done.'),
    code: codeSchema.optional().describe('Why it was refused.'),
    address: z.string().nullable().describe("The client's, as far as `TRUST_PROXY` lets it be known."),
    request_id: z.string().nullable().describe('The `X-Request-Id` of the answer.'),
    changes: z
      .array(fieldChangeSchema)
      .readonly()
      .describe('The fields that it changed; with their values where these are no secrets.'),
  })
  .meta({ id: 'AuditEntry' });

export const listAuditLog = defineRoute({
  operationId: 'listAuditLog',
  summary: 'List who changed and did what',
  method: 'get',
  path: '/v1/audit-log',
  scope: SCOPE,
  // A filter that matches little looks at thousands of entries.
  isHeavy: true,
  request: {
    query: pageQuery(auditIdSchema)
      .extend(filterShape)
      .refine(...isInOrder),
  },
  responses: {
    200: {
      description: 'A page of entries, newest first. One that is not full goes on if `has_more` says so.',
      schema: historyPageOf(entrySchema, 'AuditLogPage'),
    },
  },
  problems: ['operator_only'],
  async handle({ apiKey, query }, context) {
    const { limit, cursor } = query;
    const page = await readAuditLog(context, queryFor(apiKey, query), limit, cursor);
    const nextCursor = page.nextBefore;
    return {
      status: 200,
      body: presentHistoryPage(page.entries.map(presentEntry), {
        nextCursor,
        ...(page.isCutShort ? { isCutShort: true } : {}),
      }),
    };
  },
});

interface SentFilter {
  readonly account_id?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** @throws AppError `operator_only` for another account's log. */
function queryFor(principal: Principal, { account_id: accountId, ...filter }: SentFilter): AuditQuery {
  const { actor, action, target, since, until } = filter;
  const asked = { actor, action, target, since, until };
  if (accountId === undefined || accountId === principal.accountId) {
    return { of: principal.accountId, ...asked };
  }
  requireOperator(principal);
  return { of: accountId === '*' ? 'everybody' : accountIdSchema.parse(accountId), ...asked };
}

export function presentEntry(entry: AuditEntry): z.infer<typeof entrySchema> {
  const { id, accountId, at, actor, action, targetId, code, address, requestId, changes } = entry;
  return {
    id,
    account_id: accountId ?? null,
    at: formatTime(at),
    actor,
    action,
    target: targetId === undefined ? null : { type: targetTypeOf(action), id: targetId },
    outcome: code === undefined ? 'ok' : 'refused',
    ...(code === undefined ? {} : { code: codeSchema.parse(code) }),
    address: address ?? null,
    request_id: requestId ?? null,
    changes: changes ?? [],
  };
}

const MAX_LIMIT = 1_000_000;
const PAGE = 500;
const MOST_AT_ONCE = 2;

const exportedEntrySchema = entrySchema
  .extend({ cursor: z.string().describe('Another export goes on behind it.') })
  .meta({ id: 'ExportedAuditEntry' });

export const exportAuditLog = defineRoute({
  operationId: 'exportAuditLog',
  summary: 'Export the audit log, a line for each entry',
  method: 'get',
  path: '/v1/audit-log/export',
  scope: SCOPE,
  request: {
    query: z
      .strictObject({
        ...filterShape,
        limit: limitSchema(MAX_LIMIT).optional().describe('The most lines; absent: all entries.'),
        cursor: cursorSchema(auditIdSchema, 'must be the cursor of a line before')
          .optional()
          .describe('The `cursor` of the last line that you have.'),
      })
      .refine(...isInOrder),
  },
  responses: {
    200: {
      description: 'JSON texts, newest first, each with a line feed after it; the schema is that of a line.',
      schema: exportedEntrySchema,
      isLines: true,
    },
  },
  problems: ['history_unavailable', 'operator_only'],
  async handle({ apiKey, query, header }, context) {
    const { accountId } = apiKey;
    const asked = queryFor(apiKey, query);
    const credentials = credentialsIn(header, SCOPE);
    const lines = ({ signal }: Connection) =>
      linesOf(context, asked, { limit: query.limit, before: query.cursor, signal });
    return {
      status: 200,
      lines: (connection) =>
        context.longAnswers.limit(
          { operation: 'exportAuditLog', accountId, most: MOST_AT_ONCE },
          whileAllowed(lines, connection, () => mayGoOn(context, credentials)),
        ),
    };
  },
});

interface ExportBounds {
  readonly limit: number | undefined;
  readonly before: string | undefined;
  readonly signal: AbortSignal;
}

async function* linesOf(
  context: ApiContext,
  query: AuditQuery,
  { limit = Number.POSITIVE_INFINITY, before: start, signal }: ExportBounds,
): AsyncGenerator<string, void> {
  let before = start;
  let left = limit;
  do {
    signal.throwIfAborted();
    const page = await readAuditLog(context, query, Math.min(PAGE, left), before);
    // An export that lacks the older part would look whole.
    if (page.isCutShort) throw historyUnavailable();
    left -= page.entries.length;
    before = page.nextBefore;
    const lines = page.entries.map(
      (entry) => `${JSON.stringify({ ...presentEntry(entry), cursor: encodeCursor(entry.id) })}\n`,
    );
    if (lines.length > 0) yield lines.join('');
  } while (before !== undefined && left > 0);
}
