import { DatabaseError, type PoolClient } from 'pg';
import { DAY_MS, isDayExpired } from '../../domain/history-retention';
import type { PgDatabase } from './pg-database';
import { ALL_TABLES, type DaysResult, eachDay, type Partition, readPartitions } from './pg-days';

/** By then the events of a day have finished and moved. Later rows would split full index pages. */
export const PACKED_AFTER_MS = 2 * DAY_MS;
/** The comment on a day's table that was packed. */
const PACKED = 'packed';
const IN_USE = '55P03';

const IS_PACKED = `SELECT obj_description($1::regclass, 'pg_class') = '${PACKED}' AS is_packed`;
// Left by a process that was killed. PostgreSQL gives them these names.
const LEFT_OVER = `
  SELECT indexrelid::regclass::text AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
  WHERE indrelid = $1::regclass AND NOT indisvalid AND relname ~ '_cc(new|old)[0-9]*$'`;

/**
 * Make the indexes of each day that is over again, once: those that grow in the middle are half empty. Nobody waits for
 * it. It may break off anywhere, and is then begun again.
 *
 * @param now milliseconds since the Unix epoch.
 * @returns those that were packed. One that is in use for long is left for next time.
 */
export async function packDays(database: PgDatabase, now: number, signal?: AbortSignal): Promise<DaysResult> {
  const partitions = await database.transact((client) => readPartitions(client, ALL_TABLES));
  const over = partitions.filter(({ date, keepDays }) => {
    const day = Date.parse(date);
    // One that is about to be dropped must not be in use.
    return day + DAY_MS + PACKED_AFTER_MS <= now && !isDayExpired(day, keepDays, now + DAY_MS);
  });
  return await eachDay(
    over,
    async (day) => !signal?.aborted && (await database.maintain((client) => pack(client, day))),
  );
}

async function pack(client: PoolClient, { name }: Partition): Promise<boolean> {
  const { rows } = await client.query<{ is_packed: boolean | null }>(IS_PACKED, [name]);
  if (rows[0]?.is_packed) return false;
  const leftOver = await client.query<{ name: string }>(LEFT_OVER, [name]);
  try {
    for (const index of leftOver.rows) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index.name}`);
    await client.query(`REINDEX TABLE CONCURRENTLY ${name}`);
    await client.query(`COMMENT ON TABLE ${name} IS '${PACKED}'`);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === IN_USE) return false;
    throw error;
  }
}
