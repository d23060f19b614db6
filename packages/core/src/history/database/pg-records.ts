import type { AccountId } from '../../domain/account';
import type { EventHead } from '../../domain/event';
import { parseTraceparent } from '../../domain/trace';
import type { DeliveryKey, EventKey } from '../history-source';
import { type AttemptColumns, type DeliveryRow, deliveryKeyOf, type EventRow, toLog } from './history-rows';
import type { PgDatabase } from './pg-database';
import { scheduleOf } from './pg-lists';
import { SELECT_ATTEMPT, SELECT_DELIVERY, SELECT_EVENT } from './pg-rows';

/** Of two events under one id, the later one is the last one. */
export async function readEventRows(
  database: PgDatabase,
  accountId: AccountId,
  events: readonly EventKey[],
  columns = SELECT_HEAD,
): Promise<readonly EventRow[]> {
  const places = events.map(({ eventId, createdAt }) => ({
    event_id: eventId,
    accepted_at: createdAt === undefined ? null : new Date(createdAt).toISOString(),
  }));
  const isPlaced = events.every(({ createdAt }) => createdAt !== undefined);
  const text = isPlaced ? readPlaced(columns) : readAnywhere(columns);
  const name = `${isPlaced ? 'read-placed' : 'read-anywhere'}-${columns === SELECT_HEAD ? 'heads' : 'events'}`;
  return await database.read<EventRow>({ name, text, values: [accountId, JSON.stringify(places)] });
}

/** By their ids. */
export async function readRecords(
  database: PgDatabase,
  accountId: AccountId,
  keys: readonly DeliveryKey[],
): Promise<ReadonlyMap<string, Logged>> {
  if (keys.length === 0) return new Map();
  const given = keys.map(({ createdAt, eventId, endpointId }) => ({
    accepted_at: new Date(createdAt).toISOString(),
    delivery_key: deliveryKeyOf(`${eventId}.${endpointId}`),
  }));
  const values = [accountId, JSON.stringify(given)];
  const rows = await database.read<RecordRow>({ name: 'read-records', text: READ_RECORDS, values });
  return new Map(
    rows.map((row) => [`${row.event_id}.${row.webhook_id}`, { row, log: toLog(row, row.attempts ?? []) }]),
  );
}

/** A delivery with the log that its rows were made of. */
interface Logged {
  readonly row: RecordRow;
  readonly log: string;
}

interface RecordRow extends DeliveryRow {
  readonly attempts: readonly AttemptColumns[] | null;
}

// One after the other by their keys, however large the tables are: a join of them would be planned for their
// sizes.
const READ_RECORDS = `
  SELECT d.*, (
    SELECT json_agg(attempt) FROM (
      SELECT ${SELECT_ATTEMPT} FROM webhook_attempts AS a
      WHERE a.account_id = $1 AND a.accepted_at = g.accepted_at AND a.delivery_key = g.delivery_key AND a.keep_days = k.keep_days
    ) AS attempt
  ) AS attempts
  FROM json_to_recordset($2) AS g (accepted_at timestamptz, delivery_key bigint)
  CROSS JOIN webhook_retentions AS k
  CROSS JOIN LATERAL (
    SELECT ${SELECT_DELIVERY} FROM webhook_deliveries AS d
    WHERE d.account_id = $1 AND d.accepted_at = g.accepted_at AND d.delivery_key = g.delivery_key
      AND d.keep_days = k.keep_days LIMIT 1
  ) AS d
  ORDER BY d.attempt_count`;

export const PLACES = 'json_to_recordset($2) AS g (event_id text COLLATE "C", accepted_at timestamptz)';
const SELECT_HEAD = SELECT_EVENT.replace('e.data AS data', 'NULL AS data');

const readPlaced = (columns: string) => `
  SELECT e.* FROM ${PLACES} CROSS JOIN webhook_retentions AS k
  CROSS JOIN LATERAL (
    SELECT ${columns} FROM webhook_events AS e
    WHERE e.account_id = $1 AND e.event_id = g.event_id AND e.accepted_at = g.accepted_at AND e.keep_days = k.keep_days
    LIMIT 1
  ) AS e`;

// In all days: an id does not tell its day.
const readAnywhere = (columns: string) => `
  SELECT e.* FROM ${PLACES}
  CROSS JOIN LATERAL (
    SELECT ${columns} FROM webhook_events AS e WHERE e.account_id = $1 AND e.event_id = g.event_id
    ORDER BY e.accepted_at DESC LIMIT 1
  ) AS e`;

export function headOf(row: EventRow): EventHead {
  const { type, is_aimed, erased_at, trace } = row;
  const position = parseTraceparent(trace ?? undefined);
  const acceptedAt = Date.parse(row.accepted_at);
  const schedule = scheduleOf(acceptedAt, parsed(row.published_at), parsed(row.cancelled_due_at));
  return {
    acceptedAt,
    type,
    isAimed: is_aimed,
    ...(erased_at == null ? {} : { erasedAt: Date.parse(erased_at) }),
    ...(position === undefined ? {} : { trace: position }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(row.event_group == null ? {} : { group: row.event_group }),
    ...(row.request_id == null ? {} : { requestId: row.request_id }),
  };
}

function parsed(time: string | null | undefined): number | undefined {
  return time == null ? undefined : Date.parse(time);
}
