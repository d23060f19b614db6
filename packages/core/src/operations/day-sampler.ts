import type { Emit } from '../domain/signal';
import type { Clock } from '../platform/clock';
import { settledWithin, WakeUpTimer } from '../platform/timers';
import type { Operations } from './operations';
import { SAMPLE_EVERY_MS } from './redis-day-store';

export interface DaySamplerParts {
  readonly operations: Operations;
  readonly clock: Clock;
  readonly emit: Emit;
}

// A moment after a time begins, so that it has begun by Redis' clock and by that of each process.
const AFTER_MS = 50;
// Enough for a reply of Redis.
const STOP_PATIENCE_MS = 1_000;

/** Takes a sample every five minutes. Of all workers the one that comes first does. */
export class DaySampler {
  readonly #timer = new WakeUpTimer(async () => {
    await this.runOnce();
    this.#waitForNext();
  });

  constructor(private readonly parts: DaySamplerParts) {}

  start(): void {
    this.#waitForNext();
  }

  async stop(): Promise<void> {
    await settledWithin(STOP_PATIENCE_MS, this.#timer.stop());
  }

  /** Never rejects. */
  async runOnce(): Promise<void> {
    const { operations, emit } = this.parts;
    try {
      await operations.recordSample();
    } catch (error) {
      emit({ name: 'task.failed', task: 'sample the queues and workers', error });
    }
  }

  #waitForNext(): void {
    this.#timer.wakeUpIn(SAMPLE_EVERY_MS - (this.parts.clock() % SAMPLE_EVERY_MS) + AFTER_MS);
  }
}
