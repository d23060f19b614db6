import type { PoolClient } from 'pg';
import { AppError } from '../../platform/app-error';
import {
  ADD_REJECTED_IN_BATCH,
  ADD_TOKEN_ERROR,
  ADD_TRANSFORM_ERROR,
  ATTEMPT_DETAILS,
  GROUPS,
  HISTORY_SCHEMA,
  HOLDS,
  REMOTE_ADDRESSES,
  REQUEST_IDS,
  ROUNDS,
  SCHEDULES,
  TAKE_FROM_COUNTS,
} from './history-schema';
import { AUDIT_BY_ACCOUNT, AUDIT_SCHEMA } from './pg-audit-log';
import type { PgDatabase } from './pg-database';
import { COMPARED_AGAIN, INTAKE_SCHEMA } from './pg-intake';
import { COPIES_SCHEMA } from './pg-record-copies';
import { WITNESS_SCHEMA } from './pg-witness';

/** Each one brings the schema from the version that is its index to the next one. */
const MIGRATIONS = [
  HISTORY_SCHEMA,
  ADD_TOKEN_ERROR,
  AUDIT_SCHEMA,
  SCHEDULES,
  ADD_TRANSFORM_ERROR,
  ADD_REJECTED_IN_BATCH,
  GROUPS,
  ATTEMPT_DETAILS,
  REMOTE_ADDRESSES,
  HOLDS,
  ROUNDS,
  AUDIT_BY_ACCOUNT,
  TAKE_FROM_COUNTS,
  REQUEST_IDS,
  WITNESS_SCHEMA,
  INTAKE_SCHEMA,
  COPIES_SCHEMA,
  COMPARED_AGAIN,
];

// Any number that no other program uses for an advisory lock in this database.
export const ADVISORY_LOCK = 7_236_150_448;

// From version 14 on, where it was built in. It takes less time than the older way.
const HAS_LZ4 = `SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)`;
const COMPRESS = `
  ALTER TABLE webhook_events ALTER data SET COMPRESSION lz4;
  ALTER TABLE webhook_attempts ALTER response_body SET COMPRESSION lz4`;

/** Make the schema, or bring it up to date. Any number of processes may do so at the same time. */
export async function migrate(database: PgDatabase): Promise<void> {
  await database.transact(async (client) => {
    // A role that may not make tables finds those that another one has made.
    if ((await findVersion(client)) === MIGRATIONS.length) return;
    await client.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
    await client.query('CREATE TABLE IF NOT EXISTS webhook_schema (version integer NOT NULL)');
    const version = (await readVersion(client)) ?? 0;
    refuseNewer(version);
    if (version === MIGRATIONS.length) return;
    if (version === 0) await refuseOtherTables(client);
    for (const migration of MIGRATIONS.slice(version)) await client.query(migration);
    if (version === 0 && (await client.query(HAS_LZ4)).rowCount !== 0) await client.query(COMPRESS);
    await client.query('DELETE FROM webhook_schema');
    await client.query('INSERT INTO webhook_schema VALUES ($1)', [MIGRATIONS.length]);
  });
}

/**
 * @throws AppError when the schema is not the one that this version of the product works with: `conflict` for
 *   one of a later version, `history_unavailable` for one that is still to be made.
 */
export async function requireSchema(database: PgDatabase): Promise<void> {
  const version = await database.connected(findVersion);
  refuseNewer(version);
  if (version < MIGRATIONS.length) {
    throw new AppError(
      'history_unavailable',
      `The history's schema has version ${version}, and ${MIGRATIONS.length} is needed: start a worker, or run "hookferry-admin history migrate".`,
    );
  }
}

/** 0: there is none yet. */
async function findVersion(client: PoolClient): Promise<number> {
  const { rowCount } = await client.query(`SELECT FROM pg_class WHERE oid = to_regclass('webhook_schema')`);
  return rowCount === 0 ? 0 : ((await readVersion(client)) ?? 0);
}

async function readVersion(client: PoolClient): Promise<number | undefined> {
  const { rows } = await client.query<{ version: number }>('SELECT version FROM webhook_schema');
  return rows[0]?.version;
}

function refuseNewer(version: number): void {
  if (version <= MIGRATIONS.length) return;
  throw new AppError(
    'conflict',
    `The history's schema has version ${version}, made by a later version of Hookferry. This version knows ${MIGRATIONS.length} at most: start the later one.`,
  );
}

// An archive of an earlier version has the same name and other columns.
async function refuseOtherTables(client: PoolClient): Promise<void> {
  const { rowCount } = await client.query(`SELECT FROM pg_class WHERE oid = to_regclass('webhook_attempts')`);
  if (rowCount === 0) return;
  throw new AppError(
    'conflict',
    'The database has a table "webhook_attempts" that Hookferry did not create. Rename it, or give the history a database of its own.',
  );
}
