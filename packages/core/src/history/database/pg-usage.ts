import type { AccountId } from '../../domain/account';
import type { AttemptColumns, DeliveryRows, EventRow } from './history-rows';
import type { PgDatabase } from './pg-database';
import { dateOf } from './pg-days';

// With their entries in indexes, and without payloads, answers, and what was made of payloads.
const EVENT_BYTES = 400;
const DELIVERY_BYTES = 300;
const ATTEMPT_BYTES = 300;

/** Its parameter is the rows, as JSON. */
export const ADD_USAGE = `
  INSERT INTO webhook_usage (account_id, day, keep_days, bytes)
  SELECT account_id, day, keep_days, bytes FROM json_populate_recordset(null::webhook_usage, $1)
  ON CONFLICT (account_id, day, keep_days) DO UPDATE SET bytes = webhook_usage.bytes + EXCLUDED.bytes`;

interface UsageRow {
  readonly account_id: string;
  readonly day: string;
  readonly keep_days: number;
  bytes: number;
}

/** The part of a row that tells its account's day. */
export type Placed = Pick<EventRow, 'account_id' | 'accepted_at' | 'keep_days'>;

/** Adds up how many bytes each account's days grow by. */
export class UsageSums {
  readonly #rows = new Map<string, UsageRow>();

  addEvent(event: EventRow): void {
    this.add(event, EVENT_BYTES + Buffer.byteLength(event.data ?? ''));
  }

  addDelivery({ delivery, attempts }: DeliveryRows, sign: 1 | -1): void {
    let bytes = DELIVERY_BYTES + Buffer.byteLength(delivery.other_lines);
    for (const attempt of attempts) bytes += ATTEMPT_BYTES + answerBytesOf(attempt);
    this.add(delivery, sign * bytes);
  }

  /** Those of one event, delivery or attempt. @param bytes below 0 for what is removed. */
  add({ account_id, accepted_at, keep_days }: Placed, bytes: number): void {
    const day = dateOf(accepted_at);
    const key = `${account_id} ${day} ${keep_days}`;
    const row = this.#rows.get(key);
    if (row) row.bytes += bytes;
    else this.#rows.set(key, { account_id, day, keep_days, bytes });
  }

  /** In the order of the key: those that write at the same time don't wait for each other in a circle. */
  rows(): readonly UsageRow[] {
    return [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  }
}

/** The columns of the answer in an attempt's row. They are cleared when the payload is erased. */
export function answerBytesOf({
  response_body: body,
  response_headers: headers,
  exact,
}: Pick<AttemptColumns, 'response_body' | 'response_headers' | 'exact'>): number {
  const texts = [body, exact, headers && JSON.stringify(headers)];
  return texts.reduce((sum, text) => sum + (text ? Buffer.byteLength(text) : 0), 0);
}

const READ_BYTES = `
  SELECT account_id, sum(bytes)::float8 AS bytes FROM webhook_usage WHERE account_id = ANY ($1) GROUP BY account_id`;

/**
 * How many bytes of each account the history has, in the order of the accounts: about, as counted when they were
 * written.
 *
 * @throws AppError `history_unavailable`.
 */
export async function readBytes(
  database: PgDatabase,
  accountIds: readonly AccountId[],
): Promise<readonly number[]> {
  const rows = await database.read<{ account_id: string; bytes: number }>({
    name: 'read-bytes',
    text: READ_BYTES,
    values: [accountIds],
  });
  const bytes = new Map(rows.map((row) => [row.account_id, row.bytes]));
  return accountIds.map((id) => Math.max(bytes.get(id) ?? 0, 0));
}
