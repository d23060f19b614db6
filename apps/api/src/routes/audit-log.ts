import type { Audit, AuditQuery } from '@hookferry/core/accounts/audit/audit';
import { timeOfId } from '@hookferry/core/accounts/audit/redis-audit-log';
import { requireOperator } from '@hookferry/core/accounts/authentication';
import { accountIdSchema, type Principal } from '@hookferry/core/domain/account';
import {
  type AuditEntry,
  auditActorSchema,
  auditIdSchema,
  auditTargetOf,
  auditTargetSchema,
  fieldChangeSchema,
} from '@hookferry/core/domain/audit';
import { historyUnavailable } from '@hookferry/core/history/database/pg-database';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import type { Connection } from '@hookferry/core/platform/recheck';
import { z } from 'zod';
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
    .describe(
      'The account whose log to read, or `*` for all accounts. Only operators may set it. Default: your own account.',
    ),
  actor: textFilter
    .optional()
    .describe(
      'Only entries of this actor: the id of an API key or a portal session, a system user, or a type of actor. Default: all.',
    ),
  action: z
    .string()
    .regex(/^[a-z_]+\.([a-z_]+|\*)$/, 'must be an action such as webhook.update, or webhook.*')
    .optional()
    .describe(
      'Only entries with this action, such as `webhook.update`, or all of a noun: `webhook.*`. Default: all.',
    ),
  target: textFilter.optional().describe('Only entries about the object with this id. Default: all.'),
  ...timeRangeQuery('entries that were recorded'),
};

const entrySchema = z
  .object({
    id: z
      .string()
      .meta({ example: 'aud_01m8cze70423p1gcwqh466' })
      .describe('The id of the entry. Ids of later entries sort after it.'),
    account_id: z
      .string()
      .nullable()
      .describe('The account whose log the entry is in. Null: the actor belongs to no account.'),
    created_at: timeSchema.describe('When the action was done or refused.'),
    actor: auditActorSchema.describe('The actor of the action.'),
    action: z.string().meta({ example: 'webhook.update' }).describe('The action: a noun and a verb.'),
    target: auditTargetSchema.nullable().describe('The object of the action. Null: it has none.'),
    outcome: z.enum(['ok', 'refused']).describe('`ok`: the action was done. `refused`: it was not.'),
    code: codeSchema.nullable().describe('The code of the error that refused the action. Null: it was done.'),
    address: z
      .string()
      .nullable()
      .describe('The IP address of the client, as `TRUST_PROXY` determines it. Null: it is not known.'),
    request_id: z
      .string()
      .nullable()
      .describe(
        'The id of the request, which no client can choose. It is the `X-Request-Id` of the response, unless the client sent one. Null: there was no request.',
      ),
    client_request_id: z
      .string()
      .nullable()
      .describe(
        'The `X-Request-Id` that the client sent, and that the response had. Others may have sent the same one. Null: it sent none.',
      ),
    changes: z
      .array(fieldChangeSchema)
      .readonly()
      .describe('The fields that the action changed, with their values unless these are secret.'),
  })
  .meta({ id: 'AuditEntry' });

export const listAuditLog = defineRoute({
  operationId: 'listAuditLog',
  summary: 'List the audit log',
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
      description:
        'A page of entries, newest first. A page may have fewer entries than `limit` although there is a next one: see `has_more`.',
      schema: historyPageOf(entrySchema, 'AuditLogPage'),
    },
  },
  problems: ['operator_only'],
  async handle({ apiKey, query }, core) {
    const { limit, cursor } = query;
    const page = await core.audit.list(queryFor(apiKey, query), limit, cursor);
    const nextCursor = page.nextBefore;
    return {
      status: 200,
      body: presentHistoryPage(page.entries.map(presentEntry), {
        nextCursor,
        searchedBackTo: nextCursor === undefined ? undefined : timeOfId(nextCursor),
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

function presentEntry(entry: AuditEntry): z.infer<typeof entrySchema> {
  const { id, accountId, at, actor, action, targetId, code, address, changes } = entry;
  const { requestId, clientRequestId } = entry;
  return {
    id,
    account_id: accountId ?? null,
    created_at: formatTime(at),
    actor,
    action,
    target: auditTargetOf(action, targetId),
    outcome: code === undefined ? 'ok' : 'refused',
    code: code === undefined ? null : codeSchema.parse(code),
    address: address ?? null,
    request_id: requestId ?? null,
    client_request_id: clientRequestId ?? null,
    changes: changes ?? [],
  };
}

const MAX_LIMIT = 1_000_000;
const PAGE = 500;
const MOST_AT_ONCE = 2;

const exportedEntrySchema = entrySchema
  .extend({
    cursor: z.string().describe('Pass it as the parameter `cursor` to continue an export after this entry.'),
  })
  .meta({ id: 'ExportedAuditEntry' });

export const exportAuditLog = defineRoute({
  operationId: 'exportAuditLog',
  summary: 'Export the audit log, one entry on each line',
  method: 'get',
  path: '/v1/audit-log/export',
  scope: SCOPE,
  request: {
    query: z
      .strictObject({
        ...filterShape,
        limit: limitSchema(MAX_LIMIT)
          .optional()
          .describe('How many lines to export at most: 1 to 1,000,000. Default: all entries.'),
        cursor: cursorSchema(auditIdSchema, 'must be the cursor of an exported line')
          .optional()
          .describe(
            'The `cursor` of the last line that you have: the export continues after it. Default: it starts at the newest entry.',
          ),
      })
      .refine(...isInOrder),
  },
  responses: {
    200: {
      description: 'Lines of JSON (NDJSON), newest first. The schema describes one line.',
      schema: exportedEntrySchema,
      isLines: true,
    },
  },
  problems: ['history_unavailable', 'operator_only'],
  async handle({ apiKey, query, header }, core) {
    const { accountId } = apiKey;
    const asked = queryFor(apiKey, query);
    const credentials = credentialsIn(header, SCOPE);
    const lines = ({ signal }: Connection) =>
      linesOf(core.audit, asked, { limit: query.limit, before: query.cursor, signal });
    return {
      status: 200,
      lines: (connection) =>
        core.longAnswers.limit(
          { operation: 'exportAuditLog', accountId, most: MOST_AT_ONCE },
          whileAllowed(lines, connection, () => mayGoOn(core.authentication, credentials)),
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
  audit: Audit,
  query: AuditQuery,
  { limit = Number.POSITIVE_INFINITY, before: start, signal }: ExportBounds,
): AsyncGenerator<string, void> {
  let before = start;
  let left = limit;
  do {
    signal.throwIfAborted();
    const page = await audit.list(query, Math.min(PAGE, left), before);
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
