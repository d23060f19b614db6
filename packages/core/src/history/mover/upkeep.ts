import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../../platform/app-error';
import { settledWithin } from '../../platform/timers';
import { dropDays } from '../database/pg-days';
import { packDays } from '../database/pg-pack-days';
import { migrate } from '../database/pg-schema';
import { AuditMover } from './audit-mover';
import { Mover } from './mover';
import type { MoverParts } from './mover-parts';
import { MovedUntilRestore } from './restore-moved-until';
import { EndedSweep } from './sweep-ended';

interface Writer {
  start(): void;
  stop(): Promise<void>;
}

const TRY_AGAIN_MS = 2_000;
const DROP_EVERY_MS = 30 * 60_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Keeps the history: creates its schema at the start, and starts the parts that write to it. Then, twice an hour, drops
 * expired days and packs days that have ended.
 */
export class HistoryUpkeep {
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /**
   * @param others they need the schema too.
   * @param writers they write to the history. They start when its schema exists.
   */
  constructor(
    private readonly parts: MoverParts,
    others: readonly Writer[] = [],
    private readonly writers: readonly Writer[] = [
      new Mover(parts),
      new EndedSweep(parts),
      new MovedUntilRestore(parts),
      new AuditMover(parts),
      ...others,
    ],
  ) {}

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
    await Promise.all(this.writers.map((writer) => writer.stop()));
  }

  async #run(isThere: boolean): Promise<void> {
    const { signal } = this.#stop;
    while (!isThere && !signal.aborted) {
      await this.#rest(TRY_AGAIN_MS);
      isThere = !signal.aborted && (await this.#migrate().catch((error: unknown) => this.#fail(error)));
    }
    // By the clock of a machine alone, days that are still to be kept could be dropped.
    const isKnown = await this.parts.redisClock.known;
    if (signal.aborted || !isKnown) return;
    for (const writer of this.writers) writer.start();
    while (!signal.aborted) {
      await this.#dropDays();
      await this.#packDays();
      await this.#rest(DROP_EVERY_MS);
    }
  }

  /** Gives whether the schema is there now. */
  async #migrate(): Promise<boolean> {
    try {
      await migrate(this.parts.historyDatabase);
      return true;
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict') throw error;
      return this.#fail(error);
    }
  }

  async #dropDays(): Promise<void> {
    const { historyDatabase, clock, emit } = this.parts;
    try {
      const { done, errors } = await dropDays(historyDatabase, clock());
      for (const table of done) emit({ name: 'history.day_dropped', table });
      for (const error of errors) this.#fail(error);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #packDays(): Promise<void> {
    const { historyDatabase, clock } = this.parts;
    try {
      const { errors } = await packDays(historyDatabase, clock(), this.#stop.signal);
      for (const error of errors) this.#fail(error);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): false {
    this.parts.emit({ name: 'history.failed', error });
    return false;
  }

  async #rest(durationMs: number): Promise<void> {
    // It keeps no process from its end.
    await wait(durationMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
  }
}
