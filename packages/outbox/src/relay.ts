import { setTimeout as wait } from 'node:timers/promises';
import { createEventPublisher, type EventPublisher, PublishError } from '@hookferry/producer';
import { type ConnectionOptions, openRedis, type RedisConnection } from '@hookferry/producer/internal';
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
  /** Called with what failed. It tries again by itself. */
  readonly onError?: (error: unknown) => void;
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

interface Row {
  readonly position: string;
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
  readonly #publisher: EventPublisher<Readonly<Record<string, unknown>>>;
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;
  #wake = () => {};
  #prunedAt = 0;

  constructor(private readonly options: RelayOptions) {
    const { table = DEFAULT_TABLE, confirmedBy = 0 } = options;
    this.#table = checkTable(table);
    this.#redis = openRedis(options, 5_000, () => {});
    this.#publisher = createEventPublisher({ connection: this.#redis.client, confirmedBy });
  }

  /** Publishes until it is stopped. */
  start(): void {
    this.#running ??= Promise.all([this.#run(), this.#listen()]);
  }

  /** Resolves once the batch under way has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
    await this.#publisher.close();
    this.#redis.close();
  }

  async status(): Promise<RelayStatus> {
    return await this.#with(async (client) => {
      const waiting = `SELECT count(*) AS waiting, min(written_at) AS oldest FROM ${this.#table} WHERE batch IS NULL AND error IS NULL`;
      const failed = `SELECT count(*) AS failed FROM ${this.#table} WHERE error IS NOT NULL`;
      const [row] = (await client.query(`SELECT * FROM (${waiting}) w, (${failed}) f`)).rows as {
        readonly waiting: string;
        readonly oldest: Date | null;
        readonly failed: string;
      }[];
      const { waiting: count = '0', oldest = null, failed: errors = '0' } = row ?? {};
      return { waiting: Number(count), oldestAt: oldest ?? undefined, failed: Number(errors) };
    });
  }

  /** Has all events published again that were published since, or later. Their ids are the same. @returns how many. */
  async republish(since: Date): Promise<number> {
    const again = `UPDATE ${this.#table} SET batch = NULL, published_at = NULL WHERE published_at >= $1`;
    const { rowCount } = await this.#with((client) => client.query(again, [since]));
    this.#wake();
    return rowCount ?? 0;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      let isMore = false;
      try {
        isMore = await this.#publishNext();
        await this.#prune();
      } catch (error) {
        this.options.onError?.(error);
      }
      if (!isMore) await this.#pause();
    }
  }

  /** Until PostgreSQL tells of new events, or it is time to look. */
  async #pause(): Promise<void> {
    const { pollMs = 1_000 } = this.options;
    const awake = new AbortController();
    this.#wake = () => awake.abort();
    if (this.#stop.signal.aborted) return;
    await wait(pollMs, undefined, { signal: awake.signal }).catch(() => {});
  }

  /** @returns whether there may be more at once. */
  async #publishNext(): Promise<boolean> {
    return await this.#with(async (client) => {
      await client.query('BEGIN');
      try {
        const isMore = await this.#publishBatch(client);
        await client.query('COMMIT');
        return isMore;
      } catch (error) {
        await client.query('ROLLBACK').catch(() => {});
        throw error;
      }
    });
  }

  async #publishBatch(client: RelayClient): Promise<boolean> {
    const [state] = (await client.query(STATE, [this.#table])).rows as State[];
    // Another relay is at it.
    if (!state?.is_mine) return false;
    const [last] = (await client.query(`SELECT max(batch) AS last FROM ${this.#table}`)).rows as {
      readonly last: string | null;
    }[];
    const published = Number(last?.last ?? 0);
    const mark = `${this.#redis.prefix}:outbox:${state.outbox}`;
    await this.#redis.untilReady();
    const confirmed = Number((await this.#redis.client.get(mark)) ?? 0);
    if (confirmed < published) await this.#takeBack(client, confirmed);
    const waiting = `SELECT position, event FROM ${this.#table} WHERE batch IS NULL AND error IS NULL ORDER BY position LIMIT ${BATCH}`;
    const rows = (await client.query(waiting)).rows as Row[];
    if (rows.length === 0) return false;
    const { good, bad, failure } = await this.#publish(rows);
    // The number before is never used again, not even after all of its rows are gone.
    const batch = Math.max(confirmed, published) + 1;
    if (good.length > 0) {
      await this.#redis.client.set(mark, batch);
      const done = `UPDATE ${this.#table} SET batch = $2, published_at = now() WHERE position = ANY($1::bigint[])`;
      await client.query(done, [good, batch]);
    }
    for (const [position, error] of bad) {
      await client.query(`UPDATE ${this.#table} SET error = $2 WHERE position = $1`, [position, error]);
    }
    if (failure !== undefined) this.options.onError?.(failure);
    return failure === undefined && rows.length === BATCH;
  }

  async #takeBack(client: RelayClient, confirmed: number): Promise<void> {
    const again = `UPDATE ${this.#table} SET batch = NULL, published_at = NULL WHERE batch > $1`;
    const { rowCount } = await client.query(again, [confirmed]);
    this.options.onRolledBack?.(rowCount ?? 0);
  }

  async #publish(rows: readonly Row[]) {
    const good: string[] = [];
    const bad: [position: string, error: string][] = [];
    let failure: unknown;
    const events: { readonly position: string; readonly event: never }[] = [];
    for (const { position, event } of rows) {
      try {
        events.push({ position, event: JSON.parse(event) as never });
      } catch (error) {
        bad.push([position, `It is not JSON: ${String(error)}`]);
      }
    }
    const results = await this.#publisher.publishBatch(events.map(({ event }) => event));
    for (const [i, { position }] of events.entries()) {
      const result = results[i];
      if (result?.status === 'published') good.push(position);
      else if (isInvalid(result?.error)) bad.push([position, result.error.message]);
      else failure ??= result?.error;
    }
    return { good, bad, failure };
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
        const client = await pool.connect();
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
    const client = await this.options.pool.connect();
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

interface State {
  readonly is_mine: boolean;
  readonly outbox: string;
}

// The table's comment tells it from that of another product with the same name.
const STATE = `SELECT pg_try_advisory_xact_lock(hashtextextended('hookferry-outbox ' || $1, 0)) AS is_mine,
  coalesce(substring(obj_description($1::regclass) FROM 'hookferry-outbox ([0-9a-f-]{36})'), current_database() || '.' || $1) AS outbox`;

function isInvalid(error: PublishError | undefined): error is PublishError {
  return error instanceof PublishError && error.code === 'invalid_event';
}
