import { setTimeout as wait } from 'node:timers/promises';
import type { Emit } from '../../domain/signal';
import type { Clock } from '../../platform/clock';
import { settledWithin } from '../../platform/timers';
import { type AttemptRow, type InsertResult, readAttemptRow } from './pg-attempt-table';
import type { ArchiveStream, StreamEntry } from './redis-archive-stream';

export interface ArchiverOptions {
  /** Over a connection of its own. */
  readonly stream: Omit<ArchiveStream, 'add' | 'count' | 'countAside'>;
  readonly table: { insert(rows: readonly AttemptRow[]): Promise<InsertResult> };
  /** Its name in the stream's consumer group. */
  readonly consumer: string;
  /** The most attempts that go into the archive at once. */
  readonly batchSize: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

interface Batch {
  readonly entry: StreamEntry;
  readonly row: AttemptRow;
}

interface Refused {
  readonly entry: StreamEntry;
  readonly code: string;
  readonly reason: string;
}

/** How long it waits for new entries. While nothing happens it sends one command in this time. */
const READ_PATIENCE_MS = 2_000;
/** After a batch that was not full: waits for more entries to take at once. */
const GATHER_MS = 500;
/**
 * Entries that others hold for longer than this are taken over: a living archiver has archived them by then,
 * or can't now.
 */
export const TAKE_OVER_AFTER_MS = 60_000;
const LOOK_FOR_DEAD_EVERY_MS = 30_000;
/** A worker that was silent for this long won't come back under its name. */
const FORGET_DEAD_AFTER_MS = 3_600_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
const STOP_PATIENCE_MS = 4_000;

/**
 * Takes attempts from the stream and puts them into the archive, at least once. An existing row stays as it
 * is, so the archive has each attempt once. An attempt leaves the stream when the archive has it. While the
 * archive is away, a batch is held and tried again, and the rest stays in the stream. Deliveries are not
 * affected.
 */
export class Archiver {
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #held: readonly StreamEntry[] = [];
  #isGroupKnown = false;
  #lookForDeadAt = 0;

  constructor(private readonly options: ArchiverOptions) {}

  start(): void {
    this.#running = this.#run();
  }

  /** Others take over the entries that it could not archive. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await settledWithin(STOP_PATIENCE_MS, this.#running);
  }

  /**
   * Archive one batch, which may be empty. Gives how many entries were handled. After an error it goes on
   * with the same entries.
   */
  async runOnce(): Promise<number> {
    if (this.#held.length === 0) this.#held = await this.#take();
    const { length } = this.#held;
    await this.#archive(this.#held);
    this.#held = [];
    return length;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const count = await this.runOnce();
        failures = 0;
        if (count > 0 && count < this.options.batchSize) await this.#rest(GATHER_MS);
      } catch (error) {
        this.options.emit({ name: 'archive.failed', error });
        this.#isGroupKnown = false;
        await this.#rest(Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS));
        failures += 1;
      }
    }
    await this.options.stream.removeConsumers(0, this.options.consumer).catch(() => {});
  }

  async #rest(durationMs: number): Promise<void> {
    await wait(durationMs, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  async #take(): Promise<readonly StreamEntry[]> {
    const { stream, consumer, batchSize, clock } = this.options;
    if (!this.#isGroupKnown) await stream.createGroup();
    this.#isGroupKnown = true;
    if (clock() >= this.#lookForDeadAt) {
      const entries = await stream.takeOver(consumer, batchSize, TAKE_OVER_AFTER_MS);
      if (entries.length > 0) return entries;
      await stream.removeConsumers(FORGET_DEAD_AFTER_MS);
      this.#lookForDeadAt = clock() + LOOK_FOR_DEAD_EVERY_MS;
    }
    return await stream.takeNew(consumer, batchSize, READ_PATIENCE_MS);
  }

  async #archive(entries: readonly StreamEntry[]): Promise<void> {
    const batch: Batch[] = [];
    for (const entry of entries) {
      try {
        batch.push({ entry, row: readAttemptRow(entry.fields) });
      } catch (error) {
        await this.#putAside(entry, String(error));
      }
    }
    if (batch.length > 0) await this.#insertAll(batch);
  }

  async #insertAll(batch: readonly Batch[]): Promise<void> {
    const refused = await this.#insert(batch);
    const [first] = refused;
    const isFull = batch.length === this.options.batchSize && batch.length > 1;
    const isForOneReason = refused.every(({ code }) => code === first?.code);
    // The cause is the table then, for example a constraint: it would refuse all later entries as well.
    if (first && isFull && refused.length === batch.length && isForOneReason) {
      throw new Error(`The archive's table refuses all ${batch.length} attempts (${first.reason}).`);
    }
    for (const { entry, reason } of refused) await this.#putAside(entry, reason);
  }

  // Find a row that the table does not accept by halves, so that it holds up no other row.
  async #insert(batch: readonly Batch[]): Promise<readonly Refused[]> {
    const result = await this.options.table.insert(batch.map(({ row }) => row));
    if (result.kind === 'stored') {
      await this.#forget(batch);
      return [];
    }
    const [only] = batch;
    if (only && batch.length === 1) return [{ ...result, entry: only.entry }];
    const half = Math.ceil(batch.length / 2);
    const refused = await this.#insert(batch.slice(0, half));
    return [...refused, ...(await this.#insert(batch.slice(half)))];
  }

  async #forget(batch: readonly Batch[]): Promise<void> {
    const count = await this.options.stream.forget(batch.map(({ entry }) => entry.id));
    if (count > 0) this.options.emit({ name: 'attempts.archived', count });
  }

  async #putAside(entry: StreamEntry, reason: string): Promise<void> {
    const wasThere = await this.options.stream.putAside(entry, reason);
    if (wasThere) this.options.emit({ name: 'archive.refused', entryId: entry.id, reason });
  }
}
