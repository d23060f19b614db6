import { setTimeout as wait } from 'node:timers/promises';
import { settledWithin } from '../../platform/timers';
import { type BatchResult, moveBatch } from './move-batch';
import type { MoverParts } from './mover-parts';

// Checked each tenth of the time that finished deliveries stay, so that they move at most a tenth late.
const INTERVAL_SHARE = 10;
const SHORTEST_INTERVAL_MS = 50;
const LONGEST_INTERVAL_MS = 1_000;
const PATIENCE_MS = 1_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
const STOP_PATIENCE_MS = 4_000;

/**
 * Moves what is over to the history, batch by batch, for as long as the process runs. While Redis or
 * PostgreSQL is away it tries again at growing intervals, and deliveries are not affected.
 */
export class Mover {
  readonly #stop = new AbortController();
  readonly #intervalMs: number;
  #running: Promise<unknown> = Promise.resolve();
  /** With a long list, one batch is written while another one is read or removed. */
  #helping: Promise<void> | undefined;

  constructor(private readonly parts: MoverParts) {
    const share = parts.moveAfterMs / INTERVAL_SHARE;
    this.#intervalMs = Math.min(Math.max(share, SHORTEST_INTERVAL_MS), LONGEST_INTERVAL_MS);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Another process takes over the entries that it could not move. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await settledWithin(STOP_PATIENCE_MS, Promise.all([this.#running, this.#helping]));
  }

  /**
   * Move one batch, which may be empty.
   *
   * @param patienceMs how long it may wait, so that an idle process asks along with something else.
   */
  async runOnce(patienceMs = 0): Promise<BatchResult> {
    return await moveBatch(this.parts, patienceMs);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let failures = 0;
    let patienceMs = 0;
    while (!signal.aborted) {
      try {
        // While it is away, thousands of deliveries would be read for nothing at each try.
        if (failures > 0) await this.parts.historyWriter.ping();
        const { isFull } = await this.runOnce(patienceMs);
        failures = 0;
        // Waits for deliveries that move soon after their end.
        patienceMs = isFull || this.#intervalMs < LONGEST_INTERVAL_MS ? 0 : PATIENCE_MS;
        if (isFull) this.#helping ??= this.#help();
        else await this.#rest(this.#intervalMs);
      } catch (error) {
        this.parts.emit({ name: 'history.failed', error });
        await this.#rest(Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS));
        failures += 1;
      }
    }
  }

  async #help(): Promise<void> {
    try {
      while (!this.#stop.signal.aborted && (await this.runOnce()).isFull);
    } catch {
      // The other one finds out as well, and tells.
    } finally {
      this.#helping = undefined;
    }
  }

  async #rest(durationMs: number): Promise<void> {
    // It keeps no process from its end.
    await wait(durationMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
  }
}
