import type { NamedQuery } from './pg-database';

const EVENT_COLUMNS = [
  'account_id',
  'event_id',
  'accepted_at',
  'keep_days',
  'type',
  'data',
  'is_aimed',
  'is_searchable',
  'trace',
  'erased_at',
  'published_at',
  'cancelled_due_at',
  'event_group',
  'request_id',
];
const DELIVERY_COLUMNS = [
  'account_id',
  'delivery_key',
  'event_id',
  'webhook_id',
  'accepted_at',
  'keep_days',
  'type',
  'status',
  'attempt_count',
  'last_outcome',
  'response_status',
  'last_attempt_at',
  'other_lines',
];
const ATTEMPT_COLUMNS = [
  'account_id',
  'delivery_key',
  'keep_days',
  'accepted_at',
  'delivery_id',
  'event_id',
  'webhook_id',
  'type',
  'position',
  'number',
  'started_at',
  'next_attempt_at',
  'status',
  'trigger',
  'worker',
  'remote_address',
  'holds',
  'duration_ms',
  'dns_ms',
  'connect_ms',
  'tls_ms',
  'first_byte_ms',
  'outcome',
  'added_headers',
  'content_headers',
  'transform_version',
  'batch_id',
  'token_status',
  'token_error',
  'response_status',
  'response_headers',
  'response_body',
  'error',
  'is_late',
  'round',
  'trace',
  'exact',
];
const TIMES = [
  'accepted_at',
  'erased_at',
  'published_at',
  'cancelled_due_at',
  'last_attempt_at',
  'started_at',
  'next_attempt_at',
];

export const INSERT_EVENTS = insertInto('webhook_events', EVENT_COLUMNS);
export const INSERT_DELIVERIES = insertInto('webhook_deliveries', DELIVERY_COLUMNS);
export const INSERT_ATTEMPTS = insertInto('webhook_attempts', ATTEMPT_COLUMNS);

/** The columns of a row `e`, `d` or `a`, as the types of rows have them. */
export const SELECT_EVENT = selectFrom('e', EVENT_COLUMNS);
export const SELECT_DELIVERY = selectFrom('d', DELIVERY_COLUMNS);
export const SELECT_ATTEMPT = selectFrom('a', ATTEMPT_COLUMNS);

/** A statement whose one parameter is a list of rows. */
export function queryOf(name: string, text: string, rows: readonly unknown[]): NamedQuery {
  return { name, text, values: [JSON.stringify(rows)] };
}

// A row that is there stays as it is.
function insertInto(table: string, columns: readonly string[]): string {
  const names = columns.join(', ');
  return `INSERT INTO ${table} (${names}) SELECT ${names} FROM json_populate_recordset(null::${table}, $1)
    ON CONFLICT DO NOTHING`;
}

function selectFrom(row: string, columns: readonly string[]): string {
  return columns
    .map((name) => `${TIMES.includes(name) ? timeOf(`${row}.${name}`) : `${row}.${name}`} AS ${name}`)
    .join(', ');
}

/** A time as the API writes it, whatever the connection's time zone is. */
export function timeOf(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
