import type { AccountId } from '../../domain/account';
import type { AuditEntry } from '../../domain/audit';
import { ERASED_LOG_START, eraseAnswer, withoutCodeText } from '../../domain/delivery-fact';
import type { EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { type AttemptRow, BEFORE_ALL } from './history-rows';
import { addAuditEntries } from './pg-audit-log';
import { historyUnavailable, type PgDatabase } from './pg-database';
import { DAILY_TABLES, ROLLUPS } from './pg-days';
import { ERASE_FROM_INTAKE, REMOVE_FROM_INTAKE } from './pg-intake';
import { queryOf, timeOf } from './pg-rows';
import { ADD_USAGE, answerBytesOf, type Placed, UsageSums } from './pg-usage';
import { waitForWriters } from './pg-writing-lock';

const LOCK_EVENTS = `
  SELECT account_id, ${timeOf('accepted_at')} AS accepted_at, keep_days, coalesce(octet_length(data), 0) AS bytes
  FROM webhook_events WHERE account_id = $1 AND event_id = $2 FOR UPDATE`;

const ERASE_EVENT = `
  UPDATE webhook_events SET data = NULL, is_searchable = false, erased_at = coalesce(erased_at, $3)
  WHERE account_id = $1 AND event_id = $2`;

// The mark is the line before all others, as it is in the log. What was made of the payload goes with it.
const MARK_DELIVERIES = `
  UPDATE webhook_deliveries AS d
  SET other_lines = $3 || regexp_replace(known.other_lines, '^[0-9]+ \\{"m":.*\\n?', '', 'gn')
  FROM (
    SELECT d.account_id, d.accepted_at, d.delivery_key, d.keep_days, d.other_lines
    FROM webhook_events AS e JOIN webhook_deliveries AS d ON d.account_id = e.account_id
      AND d.accepted_at = e.accepted_at AND d.keep_days = e.keep_days AND d.event_id = e.event_id
    WHERE e.account_id = $1 AND e.event_id = $2 AND NOT starts_with(d.other_lines, $4) FOR UPDATE OF d
  ) AS known
  WHERE (d.account_id, d.accepted_at, d.delivery_key, d.keep_days)
      = (known.account_id, known.accepted_at, known.delivery_key, known.keep_days)
  RETURNING d.account_id, ${timeOf('d.accepted_at')} AS accepted_at, d.delivery_key, d.keep_days,
    octet_length(d.other_lines) - octet_length(known.other_lines) AS bytes`;

const SELECT_ANSWERS = `
  SELECT a.account_id, ${timeOf('a.accepted_at')} AS accepted_at, a.delivery_key, a.keep_days, a.position,
    a.response_body, a.response_headers, a.outcome, a.error, a.exact
  FROM json_populate_recordset(null::webhook_attempts, $1) AS given
  JOIN webhook_attempts AS a USING (account_id, accepted_at, delivery_key, keep_days)`;

const ERASE_ATTEMPTS = `
  UPDATE webhook_attempts AS a
  SET response_body = NULL, response_headers = NULL, error = given.error, exact = given.exact
  FROM json_populate_recordset(null::webhook_attempts, $1) AS given
  WHERE (a.account_id, a.accepted_at, a.delivery_key, a.position, a.keep_days)
      = (given.account_id, given.accepted_at, given.delivery_key, given.position, given.keep_days)`;

const SELECT_RECEIVERS = `
  SELECT d.webhook_id FROM webhook_events AS e JOIN webhook_deliveries AS d ON d.account_id = e.account_id
    AND d.accepted_at = e.accepted_at AND d.keep_days = e.keep_days AND d.event_id = e.event_id
  WHERE e.account_id = $1 AND e.event_id = $2`;

/** What PostgreSQL had of an erased event. */
export interface ErasedEvent {
  /** Of its deliveries: what Redis has of them may not have lapsed yet. */
  readonly endpointIds: readonly EndpointId[];
}

type Answer = Placed &
  Pick<
    AttemptRow,
    'delivery_key' | 'position' | 'response_body' | 'response_headers' | 'outcome' | 'error' | 'exact'
  >;

/**
 * Remove an event's payload from the history, and the answers of its receivers and the words of code, which may repeat
 * it. Idempotent. It waits for those that write to the history at this moment, since they may have read it before.
 *
 * @param erasedAt milliseconds since the Unix epoch.
 * @param entry what the audit log is to say of it, if there is such an event.
 * @returns `undefined`: neither the history nor the intake has such an event.
 * @throws AppError `history_unavailable`.
 */
export async function erasePayload(
  database: Pick<PgDatabase, 'transact'>,
  accountId: AccountId,
  eventId: EventId,
  erasedAt: number,
  entry?: AuditEntry,
): Promise<ErasedEvent | undefined> {
  return await orUnavailable(async () => {
    await waitForWriters(database);
    return await database.transact(async (client) => {
      const event = [accountId, eventId];
      const usage = new UsageSums();
      const events = await client.query<Placed & { readonly bytes: number }>(LOCK_EVENTS, event);
      for (const row of events.rows) usage.add(row, -row.bytes);
      const time = new Date(erasedAt).toISOString();
      const kept = await client.query(ERASE_FROM_INTAKE, [...event, time]);
      await client.query(ERASE_EVENT, [...event, time]);
      const start = `${BEFORE_ALL} ${ERASED_LOG_START}`;
      const mark = [...event, `${start}${erasedAt}}\n`, start];
      const { rows } = await client.query<Placed & { readonly bytes: number }>(MARK_DELIVERIES, mark);
      for (const row of rows) usage.add(row, row.bytes);
      const answers = await client.query<Answer>(SELECT_ANSWERS, [JSON.stringify(rows)]);
      const erased = answers.rows.map(withoutAnswer);
      for (const [i, row] of answers.rows.entries())
        usage.add(row, answerBytesOf(erased[i] ?? row) - answerBytesOf(row));
      await client.query(queryOf('erase-attempts', ERASE_ATTEMPTS, erased));
      await client.query(queryOf('add-usage', ADD_USAGE, usage.rows()));
      if (events.rowCount === 0 && kept.rowCount === 0) return undefined;
      if (entry) await addAuditEntries(client, [entry]);
      const receivers = await client.query<{ readonly webhook_id: EndpointId }>(SELECT_RECEIVERS, event);
      return { endpointIds: receivers.rows.map((row) => row.webhook_id) };
    });
  });
}

// The line itself says more than the columns do.
function withoutAnswer({ response_body: _body, response_headers: _headers, exact, ...row }: Answer): Answer {
  const rest = exact == null ? undefined : eraseAnswer(exact);
  const error = row.error == null ? undefined : withoutCodeText(row.outcome, row.error);
  return { ...row, response_body: undefined, response_headers: undefined, error, exact: rest };
}

/**
 * Remove some of what the history has of an account, also of what somebody writes at this moment.
 *
 * @param limit about how many rows.
 * @returns how many; 0: it has nothing of the account any more.
 * @throws AppError `history_unavailable`.
 */
export async function eraseAccount(
  database: Pick<PgDatabase, 'transact'>,
  accountId: AccountId,
  limit: number,
): Promise<number> {
  return await orUnavailable(async () => {
    await waitForWriters(database);
    return await database.transact(async (client) => {
      for (const text of [REMOVE_FROM_INTAKE, ...DAILY_TABLES.toReversed().map(eraseFrom)]) {
        const { rowCount } = await client.query(text, [accountId, limit]);
        if (rowCount) return rowCount;
      }
      let count = 0;
      for (const table of [ROLLUPS, 'webhook_usage', 'webhook_audit']) {
        const { rowCount } = await client.query(`DELETE FROM ${table} WHERE account_id = $1`, [accountId]);
        count += rowCount ?? 0;
      }
      return count;
    });
  });
}

// The oldest ones, and all of the same time.
function eraseFrom(table: string): string {
  return `DELETE FROM ${table} WHERE account_id = $1 AND accepted_at <= (
    SELECT max(accepted_at) FROM (
      SELECT accepted_at FROM ${table} WHERE account_id = $1 ORDER BY accepted_at LIMIT $2
    ) AS oldest)`;
}

async function orUnavailable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw historyUnavailable(error);
  }
}
