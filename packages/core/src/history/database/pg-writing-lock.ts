import type { PoolClient } from 'pg';
import type { PgDatabase } from './pg-database';

// Two numbers that no other program uses for an advisory lock in this database. The first is that of all locks of a writer.
const LOCK = '7236, 64';

/**
 * So long after a batch has begun its rows may begin to be written. The erasure of an account waits for longer before it looks
 * into the history. It would not help to limit the end: a commit takes as long as the disk, or a standby, needs.
 */
export const WRITTEN_WITHIN_MS = 8_000;

/**
 * Tell erasures that this transaction writes what Redis had. From here to its end an erasure waits for it, for as long as that
 * takes: what is committed late is erased as well.
 */
export async function beginWriting(client: PoolClient): Promise<void> {
  await client.query(`SELECT pg_advisory_xact_lock_shared(${LOCK})`);
}

/**
 * Wait for all that write at this moment. What they have written can be seen and erased then. Those that begin later have to
 * find out by themselves what is being erased.
 */
export async function waitForWriters(database: Pick<PgDatabase, 'transact'>): Promise<void> {
  await database.transact((client) => client.query(`SELECT pg_advisory_xact_lock(${LOCK})`));
}
