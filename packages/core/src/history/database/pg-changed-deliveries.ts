import type { PoolClient } from 'pg';
import { mergeLogs } from '../merge-logs';
import { type AttemptRow, type DeliveryRow, type DeliveryRows, toDeliveryRows, toLog } from './history-rows';
import { queryOf, SELECT_ATTEMPT, SELECT_DELIVERY } from './pg-rows';

/** A delivery as it was recorded, and as it is now. */
export interface ChangedDelivery {
  readonly before: DeliveryRows;
  readonly after: DeliveryRows;
}

const LOCK_DELIVERIES = `
  SELECT ${SELECT_DELIVERY} FROM json_populate_recordset(null::webhook_deliveries, $1) AS given
  JOIN webhook_deliveries AS d USING (account_id, accepted_at, delivery_key, keep_days)
  ORDER BY d.account_id, d.accepted_at, d.delivery_key FOR UPDATE OF d`;

const SELECT_ATTEMPTS = `
  SELECT ${SELECT_ATTEMPT} FROM json_populate_recordset(null::webhook_attempts, $1) AS given
  JOIN webhook_attempts AS a USING (account_id, accepted_at, delivery_key, keep_days)
  ORDER BY a.position`;

const DELETE_ATTEMPTS = `
  DELETE FROM webhook_attempts AS a USING json_populate_recordset(null::webhook_attempts, $1) AS given
  WHERE (a.account_id, a.accepted_at, a.delivery_key, a.keep_days)
      = (given.account_id, given.accepted_at, given.delivery_key, given.keep_days)`;

const UPDATE_DELIVERIES = `
  UPDATE webhook_deliveries AS d SET status = given.status, attempt_count = given.attempt_count,
    last_outcome = given.last_outcome, response_status = given.response_status,
    last_attempt_at = given.last_attempt_at, other_lines = given.other_lines
  FROM json_populate_recordset(null::webhook_deliveries, $1) AS given
  WHERE (d.account_id, d.accepted_at, d.delivery_key, d.keep_days)
      = (given.account_id, given.accepted_at, given.delivery_key, given.keep_days)`;

/**
 * Bring deliveries up to date that are recorded, as those that were sent again since. Their attempts are
 * removed, and are to be inserted again.
 */
export async function changeDeliveries(
  client: PoolClient,
  given: readonly DeliveryRows[],
): Promise<readonly ChangedDelivery[]> {
  if (given.length === 0) return [];
  const keys = given.map(({ delivery }) => delivery);
  const locked = await client.query<DeliveryRow>(queryOf('lock-deliveries', LOCK_DELIVERIES, keys));
  const { rows: attempts } = await client.query<AttemptRow>(
    queryOf('select-attempts', SELECT_ATTEMPTS, keys),
  );
  const onRecord = new Map(locked.rows.map((delivery) => [deliveryNameOf(delivery), delivery]));
  const changed = given.flatMap((one) => {
    const name = deliveryNameOf(one.delivery);
    const delivery = onRecord.get(name);
    if (!delivery) return [];
    const own = attempts.filter((attempt) => deliveryNameOf(attempt) === name);
    const before = { delivery, attempts: own, log: toLog(delivery, own) };
    const log = mergeLogs(before.log, one.log);
    return { before, after: toDeliveryRows(one.delivery, one.delivery.webhook_id, log) };
  });
  await client.query(queryOf('delete-attempts', DELETE_ATTEMPTS, keys));
  const now = changed.map(({ after }) => after.delivery);
  await client.query(queryOf('update-deliveries', UPDATE_DELIVERIES, now));
  return changed;
}

export function deliveryNameOf(row: Pick<DeliveryRow, 'account_id' | 'event_id' | 'webhook_id'>): string {
  return `${row.account_id} ${row.event_id} ${row.webhook_id}`;
}
