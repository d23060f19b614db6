import type { PoolClient } from 'pg';
import { DatabaseError } from 'pg';
import { DAY_MS, isDayExpired } from '../../domain/history-retention';
import type { PgDatabase } from './pg-database';
import { ADVISORY_LOCK } from './pg-schema';

/** The partition of a day, for records that are kept for this many days. */
export interface Day {
  readonly keepDays: number;
  /** As in 2026-11-24, UTC. */
  readonly date: string;
}

/** By the day of acceptance. */
export const DAILY_TABLES = ['webhook_events', 'webhook_deliveries', 'webhook_attempts'] as const;
/** By the day on which attempts began. */
export const ROLLUPS = 'webhook_rollups';
export type DailyTable = (typeof DAILY_TABLES)[number] | typeof ROLLUPS;
export const ALL_TABLES = [...DAILY_TABLES, ROLLUPS] as const;

const DATE_LENGTH = '2026-11-24'.length;
/** All that comes later waits as long. A day that long queries read is dropped by the next try. */
const DROP_PATIENCE = '500ms';
const LOCK_NOT_AVAILABLE = '55P03';

// The bounds tell, so that partitions made by hand count, whatever they are called and however they are split up.
const READ_DAYS = `
  SELECT parent.relname AS parent, child.oid::regclass::text AS name,
    pg_get_expr(child.relpartbound, child.oid) AS bound
  FROM pg_inherits JOIN pg_class parent ON parent.oid = inhparent JOIN pg_class child ON child.oid = inhrelid
  WHERE inhparent = ANY ($1::regclass[])`;
const BOUND = /FROM \('?(?<keepDays>\d+)'?, '(?<date>\d{4}-\d\d-\d\d) 00:00:00\+00'\)/;

export interface Partition extends Day {
  readonly parent: DailyTable;
  readonly name: string;
}

export function dateOf(time: string): string {
  return time.slice(0, DATE_LENGTH);
}

/** Make the partitions of these tables for a day, where they are missing. Any number of processes may do so. */
export async function provideDay(
  database: PgDatabase,
  tables: readonly DailyTable[],
  { keepDays, date }: Day,
): Promise<void> {
  await database.transact(async (client) => {
    // Those that come to a new day at the same time would collide, even with IF NOT EXISTS.
    await client.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
    const known = await readPartitions(client, tables);
    for (const table of tables) {
      const isThere = known.some(
        (one) => one.parent === table && one.keepDays === keepDays && one.date === date,
      );
      if (!isThere) await makePartition(client, table, { keepDays, date });
    }
    await client.query('INSERT INTO webhook_retentions VALUES ($1) ON CONFLICT DO NOTHING', [keepDays]);
  });
}

// Attach the partition instead of creating it in place: that would wait for every query that reads the table,
// and hold up all later ones.
async function makePartition(client: PoolClient, table: DailyTable, { keepDays, date }: Day): Promise<void> {
  const name = `${table}_k${keepDays}_${date.replaceAll('-', '')}`;
  const next = dateOf(new Date(Date.parse(date) + DAY_MS).toISOString());
  await client.query(`CREATE TABLE IF NOT EXISTS ${name} (LIKE ${table} INCLUDING ALL)`);
  await client.query(
    `ALTER TABLE ${table} ATTACH PARTITION ${name}
     FOR VALUES FROM (${keepDays}, '${date} 00:00+00') TO (${keepDays}, '${next} 00:00+00')`,
  );
}

/** The result of work on days. An error with one day does not stop the others. */
export interface DaysResult {
  /** The names of the tables. */
  readonly done: readonly string[];
  readonly errors: readonly unknown[];
}

/**
 * Drop the days all of which is older than it is kept.
 *
 * @param now milliseconds since the Unix epoch.
 * @returns those that were dropped. A day that somebody reads for long is left for next time, and so is one that
 *   can't be dropped: somebody else may own it, or have made a view of it.
 */
export async function dropDays(database: PgDatabase, now: number): Promise<DaysResult> {
  const over = await database.transact(async (client) =>
    (await readPartitions(client, ALL_TABLES)).filter(({ date, keepDays }) =>
      isDayExpired(Date.parse(date), keepDays, now),
    ),
  );
  const result = await eachDay(over.toSorted(byTable), (partition) => drop(database, partition));
  await forgetRetentions(database);
  return result;
}

/** Work on days one after the other. @param work gives whether there was something to do. */
export async function eachDay(
  days: readonly Partition[],
  work: (day: Partition) => Promise<boolean>,
): Promise<DaysResult> {
  const done: string[] = [];
  const errors: unknown[] = [];
  for (const day of days) {
    try {
      if (await work(day)) done.push(day.name);
    } catch (error) {
      errors.push(error);
      // All others would fail as well.
      if (!(error instanceof DatabaseError)) break;
    }
  }
  return { done, errors };
}

// Readers ask for each that is known.
async function forgetRetentions(database: PgDatabase): Promise<void> {
  await database.transact(async (client) => {
    // Nobody makes a day of one meanwhile.
    await client.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
    const days = await readPartitions(client, ALL_TABLES);
    const used = [...new Set(days.map(({ keepDays }) => keepDays))];
    await client.query('DELETE FROM webhook_retentions WHERE keep_days <> ALL ($1)', [used]);
  });
}

function byTable(a: Partition, b: Partition): number {
  return a.date.localeCompare(b.date) || ALL_TABLES.indexOf(a.parent) - ALL_TABLES.indexOf(b.parent);
}

async function drop(database: PgDatabase, { parent, name, keepDays, date }: Partition): Promise<boolean> {
  try {
    await database.transact(async (client) => {
      await client.query(`SET LOCAL lock_timeout = '${DROP_PATIENCE}'`);
      await client.query(`DROP TABLE IF EXISTS ${name}`);
      if (parent !== DAILY_TABLES[0]) return;
      await client.query('DELETE FROM webhook_usage WHERE day = $1 AND keep_days = $2', [date, keepDays]);
    });
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

/** All days of these tables. */
export async function readPartitions(
  client: PoolClient,
  tables: readonly DailyTable[],
): Promise<readonly Partition[]> {
  // It decides how bounds are written.
  await client.query(`SET LOCAL TimeZone = 'UTC'`);
  const { rows } = await client.query<{ parent: DailyTable; name: string; bound: string }>(READ_DAYS, [
    tables,
  ]);
  return rows.flatMap(({ parent, name, bound }) => {
    const { keepDays, date } = BOUND.exec(bound)?.groups ?? {};
    return keepDays === undefined || date === undefined
      ? []
      : { parent, name, keepDays: Number(keepDays), date };
  });
}
