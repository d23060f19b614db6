import { DatabaseError, type Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Emit } from '../../domain/signal';
import type { HistoryReadKind, HistoryReadResult } from '../../domain/signals/work';
import { AppError } from '../../platform/app-error';
import { steadyClock } from '../../platform/clock';
import { settledWithin } from '../../platform/timers';
import { COMMITS_AT_ONCE } from '../../publish/intake';
import { isShared, openPool } from './pg-pool';

export interface PgDatabaseOptions {
  /** A secret. */
  readonly url: string;
  /** How the connections are called in `pg_stat_activity`. */
  readonly applicationName: string;
  /** The most connections that read. */
  readonly readers: number;
  /** The most connections that write; 0: none does. */
  readonly writers: number;
  /** Told of each read. */
  readonly emit?: Emit;
  /** Milliseconds by a clock that never jumps. */
  readonly now?: () => number;
}

/** A statement with a name is parsed once for each connection. */
export interface NamedQuery {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

const READ_TIMEOUT_MS = 3_000;
const WRITE_TIMEOUT_MS = 15_000;
// The database's own timeout is shorter: a statement that nobody waits for any more must not go on there.
const SILENCE_MS = 2_000;
/** Publishers wait for it. */
const COMMIT_TIMEOUT_MS = 2_000;
const LOCK_TIMEOUT_MS = 10_000;
/** A new connection plans each statement again, for the tables of all days: that takes longer than a page. */
const READER_IDLE_MS = 10 * 60_000;
/** A process that stops in the middle of a transaction can't commit it later than this. */
const IDLE_IN_TRANSACTION_MS = 10_000;
/** After a failed connection, reads fail at once for so long: they would wait in line for the next try. */
const AWAY_FOR_MS = 1_000;
const RETRY_AFTER_MS = 5_000;
const CLOSE_PATIENCE_MS = 1_000;

// A table has a partition for each day, so a plan made again for each page takes longer than the page, and so
// does compiling it: the plan without values leaves out partitions when it begins. Such a plan knows nothing of how
// many rows there will be. It must not be one that reads or sorts all of them for a page: each list has an index in
// its order.
const READ_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  jit: 'off',
  TimeZone: 'UTC',
  statement_timeout: READ_TIMEOUT_MS,
};
// A search begins with the index of what events contain, which knows no order.
const SEARCH_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_indexscan: 'off',
  jit: 'off',
  TimeZone: 'UTC',
  statement_timeout: READ_TIMEOUT_MS,
};
const SEARCHERS = 2;
/** For statements whose time grows with the size of a table. */
const UPKEEP_TIMEOUT_MS = 3_600_000;
const WRITE_SETTINGS = {
  jit: 'off',
  TimeZone: 'UTC',
  statement_timeout: WRITE_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
};
// Written rows are then removed from Redis, so they must be on disk. Stricter settings stay.
const COMMIT_TO_DISK = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;
const COMMIT_THIS_TO_DISK = COMMIT_TO_DISK.replace('false', 'true');
const BEGIN_WRITING = `BEGIN; ${setAll('SET LOCAL', WRITE_SETTINGS)}; ${COMMIT_THIS_TO_DISK}`;
// The server ends a statement before its process gives it up: what fails is not there afterwards.
const COMMIT_SETTINGS = { ...WRITE_SETTINGS, statement_timeout: (COMMIT_TIMEOUT_MS * 3) / 4 };
const BEGIN_COMMIT = `BEGIN; ${setAll('SET LOCAL', COMMIT_SETTINGS)}; ${COMMIT_THIS_TO_DISK}`;

/**
 * The connections to the history's PostgreSQL: those of readers and those of writers apart, so that slow
 * queries of clients don't hold up what moves. It connects when it needs to.
 */
export class PgDatabase {
  readonly #reads: Readers;
  readonly #scans: Readers;
  readonly #searches: Readers;
  readonly #writes: Pool;
  readonly #commits: Pool;
  readonly #upkeep: Pool;
  readonly #emit: Emit;
  readonly #now: () => number;
  #awayUntil = Number.NEGATIVE_INFINITY;

  constructor({
    url,
    applicationName,
    readers,
    writers,
    emit = ignore,
    now = steadyClock,
  }: PgDatabaseOptions) {
    const common = {
      connectionString: url,
      application_name: applicationName,
    };
    const reading = { ...common, idleTimeoutMillis: READER_IDLE_MS };
    this.#reads = openReaders({ ...reading, max: readers }, READ_SETTINGS);
    this.#scans = openReaders({ ...reading, max: SEARCHERS }, READ_SETTINGS);
    this.#searches = openReaders({ ...reading, max: SEARCHERS }, SEARCH_SETTINGS);
    this.#writes = openPool(
      { ...common, max: Math.max(writers, 1) },
      `${setAll('SET', WRITE_SETTINGS)}; ${COMMIT_TO_DISK}`,
      WRITE_TIMEOUT_MS + SILENCE_MS,
    );
    this.#commits = openPool(
      { ...common, max: COMMITS_AT_ONCE },
      `${setAll('SET', COMMIT_SETTINGS)}; ${COMMIT_TO_DISK}`,
      COMMIT_TIMEOUT_MS,
    );
    const patient = { ...WRITE_SETTINGS, statement_timeout: UPKEEP_TIMEOUT_MS };
    this.#upkeep = openPool({ ...common, max: 1 }, setAll('SET', patient));
    this.#emit = emit;
    this.#now = now;
  }

  /** @throws AppError `history_unavailable`, unless the query has what PostgreSQL can't take: then its own error. */
  async read<Row>(query: NamedQuery): Promise<readonly Row[]> {
    return await this.#measure('list', () => this.#readFrom<Row>(this.#reads, query));
  }

  /** The same for a search by what events contain. It has few connections of its own, since it may take long. */
  async scan<Row>(query: NamedQuery): Promise<readonly Row[]> {
    return await this.#measure('search', () => this.#readFrom<Row>(this.#scans, query));
  }

  /**
   * The same by the index of what events contain, which is planned otherwise.
   *
   * @returns `undefined`: it took too long.
   */
  async search<Row>(query: NamedQuery): Promise<readonly Row[] | undefined> {
    return await this.#measure('search', async () => {
      try {
        return await this.#readFrom<Row>(this.#searches, query);
      } catch (error) {
        if (error instanceof AppError && isTimeout(error.cause)) return undefined;
        throw error;
      }
    });
  }

  /** Run the work in one transaction. @throws the error that ended it: then nothing is written. */
  async transact<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    return await this.connected(async (client) => {
      await client.query(isShared(client) ? BEGIN_WRITING : 'BEGIN');
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    });
  }

  /**
   * Run one statement that somebody waits for, by a connection that no other work has. It is on disk when it resolves.
   *
   * @throws the error that ended it: then nothing is written, unless PostgreSQL did not say so in time.
   */
  async commit<Row extends object>(query: NamedQuery): Promise<readonly Row[]> {
    const client = await this.#commits.connect();
    return await use(client, async () => {
      if (!isShared(client)) return (await client.query<Row>(query)).rows;
      await client.query(BEGIN_COMMIT);
      const { rows } = await client.query<Row>(query);
      await client.query('COMMIT');
      return rows;
    });
  }

  /** Run one statement with a writer's connection. @throws the error that ended it. */
  async query<Row extends object>(text: string, values: unknown[] = []): Promise<readonly Row[]> {
    return await this.connected(async (client) => (await client.query<Row>(text, values)).rows);
  }

  /** Run the work with a writer's connection. After an error it is closed, which rolls back. */
  async connected<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#writes.connect();
    return await use(client, () => work(client));
  }

  /**
   * Run statements that may take long, by a connection of their own, and not in a transaction. Through a pooler they have
   * the settings of the server: no other statement could give them any.
   */
  async maintain<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#upkeep.connect();
    return await use(client, () => work(client));
  }

  async close(): Promise<void> {
    const readers = [this.#reads, this.#scans, this.#searches].map(({ pool }) => pool);
    const pools = [...readers, this.#writes, this.#commits, this.#upkeep];
    await settledWithin(CLOSE_PATIENCE_MS, Promise.all(pools.map((pool) => pool.end())));
  }

  async #measure<Result>(kind: HistoryReadKind, read: () => Promise<Result>): Promise<Result> {
    const startedAt = this.#now();
    let result: HistoryReadResult = 'failed';
    try {
      const found = await read();
      result = 'succeeded';
      return found;
    } catch (error) {
      if (isDataError(error)) result = 'succeeded';
      throw error;
    } finally {
      this.#emit({ name: 'history.read', kind, result, durationMs: this.#now() - startedAt });
    }
  }

  async #readFrom<Row>(readers: Readers, query: NamedQuery): Promise<readonly Row[]> {
    if (this.#now() < this.#awayUntil) throw historyUnavailable();
    readers.asked += 1;
    try {
      const client = await this.#connectTo(readers);
      return await use(client, () => readBy<Row>(client, query, readers.beginning), isAnswer);
    } catch (error) {
      if (isDataError(error)) throw error;
      throw historyUnavailable(error);
    } finally {
      readers.asked -= 1;
    }
  }

  async #connectTo({ pool, asked }: Readers): Promise<PoolClient> {
    try {
      return await pool.connect();
    } catch (error) {
      // The others have a connection. It waited for one of theirs, and the database is there.
      if (asked <= pool.options.max) this.#awayUntil = this.#now() + AWAY_FOR_MS;
      throw error;
    }
  }
}

/** Connections for reading. */
interface Readers {
  readonly pool: Pool;
  /** What a transaction begins with whose connection is shared. */
  readonly beginning: string;
  /** How many reads have a connection or wait for one. */
  asked: number;
}

function openReaders(config: PoolConfig, settings: Readonly<Record<string, string | number>>): Readers {
  const pool = openPool(config, setAll('SET', settings), READ_TIMEOUT_MS + SILENCE_MS);
  return { pool, beginning: beginOf(settings), asked: 0 };
}

/** @param beginning of a transaction in which the statement has its settings. */
async function readBy<Row>(
  client: PoolClient,
  query: NamedQuery,
  beginning: string,
): Promise<readonly Row[]> {
  if (!isShared(client)) return (await client.query(query)).rows as Row[];
  await client.query(beginning);
  try {
    const { rows } = await client.query(query);
    await client.query('COMMIT');
    return rows as Row[];
  } catch (error) {
    if (isAnswer(error)) await client.query('ROLLBACK');
    throw error;
  }
}

function setAll(set: 'SET' | 'SET LOCAL', settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${set} ${name} = ${value}`)
    .join('; ');
}

function beginOf(settings: Readonly<Record<string, string | number>>): string {
  return `BEGIN; ${setAll('SET LOCAL', settings)}`;
}

/** The database refused or ended a statement, and goes on with the connection. */
function isAnswer(error: unknown): boolean {
  return error instanceof DatabaseError && error.severity === 'ERROR';
}

const QUERY_CANCELED = '57014';

function isTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === QUERY_CANCELED;
}

const DATA_ERRORS = '22';

/** The query had a value that its column can't have, such as a text with NUL: a bug of ours, and no failure of the history. */
function isDataError(error: unknown): boolean {
  return error instanceof DatabaseError && error.code?.startsWith(DATA_ERRORS) === true;
}

/** @param isKept whether the connection can be used after this error. By default it is closed. */
async function use<Result>(
  client: PoolClient,
  work: () => Promise<Result>,
  isKept: (error: unknown) => boolean = () => false,
): Promise<Result> {
  // When the connection ends, the waiting query rejects. Without a listener the process would end as well.
  client.on('error', ignore);
  let failure: Error | undefined;
  try {
    return await work();
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(isKept(failure) ? undefined : failure);
  }
}

export function historyUnavailable(cause?: unknown): AppError {
  const detail = "The history (PostgreSQL) can't be read at the moment. Recent events and deliveries can.";
  return new AppError('history_unavailable', detail, { retryAfterMs: RETRY_AFTER_MS, cause });
}

function ignore(): void {}
