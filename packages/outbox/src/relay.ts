import { setTimeout as wait } from 'node:timers/promises';
import { PublishError } from '@hookferry/producer';
import {
  type AnyEvent,
  type ConnectionOptions,
  type EventJob,
  JobSender,
  openRedis,
  Patience,
  type RedisConnection,
  ReplicaWait,
  toEventJob,
} from '@hookferry/producer/internal';
import { checkTable, DEFAULT_TABLE } from './table';

/** A pool of the package `pg`. */
export interface RelayPool {
  connect(): Promise<RelayClient>;
}

export interface RelayClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>;
  on(event: 'notification' | 'error' | 'end', listener: (...args: unknown[]) => void): unknown;
  off(event: 'error', listener: (...args: unknown[]) => void): unknown;
  release(error?: Error | boolean): void;
}

export type RelayOptions = ConnectionOptions & {
  readonly pool: RelayPool;
  /** Default: `hookferry_outbox`. */
  readonly table?: string;
  /** How many replicas of Redis must have an event before it counts as published: 0 to 10, default 0. */
  readonly confirmedBy?: number;
  /** How long published events are kept, to be published again when Redis has lost them. Milliseconds. Default: a week. */
  readonly keepMs?: number;
  /** How long to wait before it looks again, should PostgreSQL not tell of new events. Milliseconds. Default: a second. */
  readonly pollMs?: number;
  /** Called with what failed, each time. It tries again by itself. The message names the store that can't be reached. */
  readonly onError?: (error: unknown) => void;
  /** Called when so many events were published. */
  readonly onPublished?: (events: number) => void;
  /** Called when Redis has gone back to an earlier state: so many events are published again. */
  readonly onRolledBack?: (events: number) => void;
};

export interface RelayStatus {
  /** Committed, and not published yet. */
  readonly waiting: number;
  /** Since when the oldest of them waits. */
  readonly oldestAt: Date | undefined;
  /** Those that can't be published: their column `error` says why. */
  readonly failed: number;
}

const WEEK_MS = 7 * 86_400_000;
const PRUNE_EVERY_MS = 60_000;
// What a publisher sends at once. With more, events behind one that failed might overtake it.
const BATCH = 100;

const PATIENCE_MS = 5_000;
// How much a worker's measure of Redis' time may be behind.
const CLOCK_MARGIN_MS = 5;
// A Redis whose clock is further behind was set back: that is not waited for.
const MOST_AHEAD_MS = 1_000;

interface Row {
  readonly position: string;
  readonly event_id: string;
  readonly event: string;
}

/**
 * Publishes what is committed in the outbox, in the order in which it was written. Any number of relays may run: one of them
 * publishes a batch at a time, under a lock that ends with its transaction.
 *
 * Each event goes under its row's id. So what is published twice, because a relay ended between Redis and PostgreSQL, is one event. Behind each batch its number is written to
 * Redis. If Redis has a smaller number than PostgreSQL, it has gone back to an earlier state, by a fail-over or a restored backup:
 * the batches since then are published again.
 */
export class Relay {
  readonly #table: string;
  readonly #redis: RedisConnection;
  readonly #sender: JobSender;
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;
  /** What it was told while it published could be newer than what it read. */
  #isTold = false;
  #awake = new AbortController();
  #prunedAt = 0;

  constructor(private readonly options: RelayOptions) {
    const { table = DEFAULT_TABLE, confirmedBy = 0 } = options;
    this.#table = checkTable(table);
    this.#redis = openRedis(options, PATIENCE_MS, () => {});
    const replicas = confirmedBy === 0 ? undefined : new ReplicaWait(this.#redis, confirmedBy);
    this.#sender = new JobSender(this.#redis, PATIENCE_MS, replicas);
  }

  /** Publishes until it is stopped. */
  start(): void {
    this.#running ??= Promise.all([this.#run(), this.#listen()]);
  }

  /** Resolves once the batch under way has ended: at once if there is none, whether Redis can be reached or not. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    // Nobody waits any more for a Redis that is away.
    if (this.#redis.client.status !== 'ready') this.#redis.close();
    await this.#running;
    await this.#sender.close();
    this.#redis.close();
  }

  async status(): Promise<RelayStatus> {
    return await this.#with((client) => readStatus(client, this.#table));
  }

  /** Has all events published again that were published since, or later. Their ids are the same. @returns how many. */
  async republish(since: Date): Promise<number> {
    const events = await this.#with((client) => republish(client, this.#table, since));
    this.#wake();
    return events;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      let isMore = false;
      this.#isTold = false;
      try {
        isMore = await this.#publishNext();
        await this.#prune();
      } catch (error) {
        if (!this.#stop.signal.aborted) this.options.onError?.(error);
      }
      if (!isMore) await this.#pause();
    }
  }

  /** Until PostgreSQL tells of new events, or it is time to look. */
  async #pause(): Promise<void> {
    const { pollMs = 1_000 } = this.options;
    if (this.#isTold) return;
    this.#awake = new AbortController();
    await wait(pollMs, undefined, { signal: this.#awake.signal }).catch(() => {});
  }

  #wake(): void {
    this.#isTold = true;
    this.#awake.abort();
  }

  /** @returns whether there may be more at once. */
  async #publishNext(): Promise<boolean> {
    // Before the lock, which another relay may be able to use.
    await this.#untilRedisIsReady();
    return await this.#with(async (client) => {
      await client.query('BEGIN');
      try {
        const { published, isMore } = await this.#publishBatch(client);
        await client.query('COMMIT');
        if (published > 0) this.options.onPublished?.(published);
        return isMore;
      } catch (error) {
        await client.query('ROLLBACK').catch(() => {});
        throw error;
      }
    });
  }

  async #untilRedisIsReady(): Promise<void> {
    try {
      await new Patience(PATIENCE_MS).of(this.#redis.untilReady());
    } catch (error) {
      throw unreachable('Redis', this.#redis.lastError() ?? error);
    }
  }

  async #publishBatch(client: RelayClient): Promise<{ published: number; isMore: boolean }> {
    const [state] = (await client.query(STATE, [this.#table])).rows as State[];
    // Another relay is at it.
    if (!state?.is_mine) return NOTHING;
    const [last] = (await client.query(`SELECT max(batch) AS last FROM ${this.#table}`)).rows as {
      readonly last: string | null;
    }[];
    const published = Number(last?.last ?? 0);
    const mark = `${this.#redis.prefix}:outbox:${state.outbox}`;
    const { client: redis } = this.#redis;
    const marks = await new Patience(PATIENCE_MS).of(redis.mget(mark, `${mark}:at`));
    const [confirmed = 0, lastAt = 0] = marks.map(Number);
    if (confirmed < published) await this.#takeBack(client, confirmed);
    const waiting = `SELECT position, event_id, event FROM ${this.#table} WHERE batch IS NULL AND error IS NULL ORDER BY position LIMIT ${BATCH}`;
    const rows = (await client.query(waiting)).rows as Row[];
    if (rows.length === 0) return NOTHING;

    const { good, bad } = read(rows);
    for (const [position, error] of bad) {
      await client.query(`UPDATE ${this.#table} SET error = $2 WHERE position = $1`, [position, error]);
    }
    if (good.length > 0) {
      const at = await this.#publish(
        good.map(({ job }) => job),
        lastAt,
      );
      // The number before is never used again, not even after all of its rows are gone.
      const batch = Math.max(confirmed, published) + 1;
      await new Patience(PATIENCE_MS).of(redis.mset(mark, batch, `${mark}:at`, at));
      const done = `UPDATE ${this.#table} SET batch = $2, published_at = now() WHERE position = ANY($1::bigint[])`;
      await client.query(done, [good.map(({ position }) => position), batch]);
    }
    return { published: good.length, isMore: rows.length === BATCH };
  }

  async #takeBack(client: RelayClient, confirmed: number): Promise<void> {
    const again = `UPDATE ${this.#table} SET batch = NULL, published_at = NULL WHERE batch > $1`;
    const { rowCount } = await client.query(again, [confirmed]);
    this.options.onRolledBack?.(rowCount ?? 0);
  }

  /**
   * A webhook with an order has events by their time, and within a millisecond by id. So each gets a time by which they stay as
   * they are, here as Redis counts it. @returns the last of these times
   */
  async #publish(jobs: readonly EventJob[], lastAt: number): Promise<number> {
    const [seconds, micros] = await new Patience(PATIENCE_MS).of(this.#redis.client.time());
    const now = Math.floor(Number(seconds) * 1_000 + Number(micros) / 1_000);
    const times = timesOf(jobs, Math.max(now, Math.min(lastAt, now + MOST_AHEAD_MS) + 1));
    const at = Math.max(...times);
    // An event that seems to come from the future counts as accepted when a worker reads it.
    if (at > now) await wait(at - now + CLOCK_MARGIN_MS);
    const timed = jobs.map((job, i) => ({ ...job, opts: { ...job.opts, timestamp: times[i] ?? at } }));
    const failure = await this.#sender.send(timed);
    if (failure) throw PublishError.of(failure.code, jobs[0]?.eventId ?? '', failure.cause);
    return at;
  }

  async #prune(): Promise<void> {
    const { keepMs = WEEK_MS } = this.options;
    if (Date.now() - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = Date.now();
    // The last batch stays: by its number a Redis that has gone back is known.
    const old = `DELETE FROM ${this.#table} WHERE published_at < $1 AND batch < (SELECT max(batch) FROM ${this.#table})`;
    await this.#with((client) => client.query(old, [new Date(Date.now() - keepMs)]));
  }

  /** Behind a pooler that shares connections nothing is heard: then it looks each `pollMs`. */
  async #listen(): Promise<void> {
    const { pool, pollMs = 1_000, onError } = this.options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const client = await connect(pool);
        const ended = new Promise<Error | undefined>((resolve) => {
          client.on('notification', () => this.#wake());
          client.on('error', (error) => resolve(error as Error));
          client.on('end', () => resolve(new Error('The connection ended.')));
          signal.addEventListener('abort', () => resolve(undefined), { once: true });
        });
        await client.query(`LISTEN ${this.#table.split('.').at(-1)}`);
        this.#wake();
        // It is not given back: it listens.
        client.release((await ended) ?? true);
      } catch (error) {
        onError?.(error);
      }
      await wait(pollMs, undefined, { signal }).catch(() => {});
    }
  }

  async #with<Result>(work: (client: RelayClient) => Promise<Result>): Promise<Result> {
    const client = await connect(this.options.pool);
    let broken: Error | undefined;
    const noteError = (error: unknown) => {
      broken = error as Error;
    };
    // Without a listener it would end the process.
    client.on('error', noteError);
    try {
      return await work(client);
    } finally {
      client.off('error', noteError);
      client.release(broken);
    }
  }
}

const NOTHING = { published: 0, isMore: false };

async function connect(pool: RelayPool): Promise<RelayClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw unreachable('PostgreSQL', error);
  }
}

function unreachable(store: string, cause: unknown): Error {
  // Where a name has several addresses, the error of all has no message.
  const { message = '', code } = cause as { readonly message?: string; readonly code?: string };
  return new Error(`${store} can't be reached: ${message || code || String(cause)}`, { cause });
}

type Database = Pick<RelayClient, 'query'>;

export async function readStatus(database: Database, table: string): Promise<RelayStatus> {
  const waiting = `SELECT count(*) AS waiting, min(written_at) AS oldest FROM ${table} WHERE batch IS NULL AND error IS NULL`;
  const failed = `SELECT count(*) AS failed FROM ${table} WHERE error IS NOT NULL`;
  const { rows } = await database.query(`SELECT * FROM (${waiting}) w, (${failed}) f`);
  const [row] = rows as { readonly waiting: string; readonly oldest: Date | null; readonly failed: string }[];
  const { waiting: count = '0', oldest = null, failed: errors = '0' } = row ?? {};
  return { waiting: Number(count), oldestAt: oldest ?? undefined, failed: Number(errors) };
}

/** Relays find those that wait again when they look next. @returns how many. */
export async function republish(database: Database, table: string, since: Date): Promise<number> {
  const again = `UPDATE ${table} SET batch = NULL, published_at = NULL WHERE published_at >= $1`;
  const { rowCount } = await database.query(again, [since]);
  return rowCount ?? 0;
}

interface State {
  readonly is_mine: boolean;
  readonly outbox: string;
}

// The table's comment tells it from that of another product with the same name.
const STATE = `SELECT pg_try_advisory_xact_lock(hashtextextended('hookferry-outbox ' || $1, 0)) AS is_mine,
  coalesce(substring(obj_description($1::regclass) FROM 'hookferry-outbox ([0-9a-f-]{36})'), current_database() || '.' || $1) AS outbox`;

/** Those that can be published, under the id of their row, and those that never can, with the reason. */
function read(rows: readonly Row[]) {
  const good: { readonly position: string; readonly job: EventJob }[] = [];
  const bad: (readonly [position: string, error: string])[] = [];
  for (const { position, event_id: id, event } of rows) {
    try {
      good.push({ position, job: toEventJob({ ...(JSON.parse(event) as AnyEvent), id }) });
    } catch (error) {
      if (error instanceof PublishError) bad.push([position, error.message]);
      else bad.push([position, `It is not JSON: ${String(error)}`]);
    }
  }
  return { good, bad };
}

/** The least times, from this one on, by which and by ids the events of each account sort as they stand. */
function timesOf(jobs: readonly EventJob[], from: number): readonly number[] {
  const last = new Map<string, { readonly id: string; readonly at: number }>();
  return jobs.map(({ eventId: id, data: { account_id: account } }) => {
    const before = last.get(account) ?? { id: '', at: from };
    const at = before.id < id ? before.at : before.at + 1;
    last.set(account, { id, at });
    return at;
  });
}
