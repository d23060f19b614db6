import { setTimeout as wait } from 'node:timers/promises';
import type { Emit } from '../../domain/signal';
import { AppError } from '../../platform/app-error';
import type { Clock } from '../../platform/clock';
import type { RedisClock } from '../../platform/redis-clock';
import { settledWithin } from '../../platform/timers';
import type { PgDatabase } from '../database/pg-database';
import { dropDays } from '../database/pg-days';
import { packDays } from '../database/pg-pack-days';
import { migrate } from '../database/pg-schema';

export interface UpkeepContext {
  readonly database: PgDatabase;
  /** The parts that write to the history. They start when its schema exists. */
  readonly writers: readonly { start(): void; stop(): Promise<void> }[];
  readonly clock: Clock;
  readonly redisClock: Pick<RedisClock, 'known'>;
  readonly emit: Emit;
}

const TRY_AGAIN_MS = 2_000;
const DROP_EVERY_MS = 30 * 60_000;
const STOP_PATIENCE_MS = 1_000;

/** Creates the history's schema at the start. Then, twice an hour, drops expired days and packs days that have ended. */
export class HistoryUpkeep {
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly context: UpkeepContext) {}

  /**
   * Create the schema and start the parts that need it, now or when PostgreSQL can be reached.
   *
   * @throws AppError `conflict` when the schema is one that this version can't work with.
   */
  async start(): Promise<void> {
    const isThere = await this.#migrate();
    this.#running = this.#run(isThere);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await settledWithin(STOP_PATIENCE_MS, this.#running);
    await Promise.all(this.context.writers.map((writer) => writer.stop()));
  }

  async #run(isThere: boolean): Promise<void> {
    const { signal } = this.#stop;
    while (!isThere && !signal.aborted) {
      await this.#rest(TRY_AGAIN_MS);
      isThere = !signal.aborted && (await this.#migrate().catch((error: unknown) => this.#fail(error)));
    }
    // By the clock of a machine alone, days that are still to be kept could be dropped.
    const isKnown = await this.context.redisClock.known;
    if (signal.aborted || !isKnown) return;
    for (const writer of this.context.writers) writer.start();
    while (!signal.aborted) {
      await this.#dropDays();
      await this.#packDays();
      await this.#rest(DROP_EVERY_MS);
    }
  }

  /** Gives whether the schema is there now. */
  async #migrate(): Promise<boolean> {
    try {
      await migrate(this.context.database);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict') throw error;
      return this.#fail(error);
    }
  }

  async #dropDays(): Promise<void> {
    const { database, clock, emit } = this.context;
    try {
      const { done, errors } = await dropDays(database, clock());
      for (const table of done) emit({ name: 'history.day_dropped', table });
      for (const error of errors) this.#fail(error);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #packDays(): Promise<void> {
    const { database, clock } = this.context;
    try {
      const { errors } = await packDays(database, clock(), this.#stop.signal);
      for (const error of errors) this.#fail(error);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): false {
    this.context.emit({ name: 'history.failed', error });
    return false;
  }

  async #rest(durationMs: number): Promise<void> {
    // It keeps no process from its end.
    await wait(durationMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
  }
}
