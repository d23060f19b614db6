import type { EndpointId } from '../../domain/endpoint';
import type { Emit } from '../../domain/signal';
import { chunksOf } from '../../platform/batches';
import { createLru } from '../../platform/caches';
import type { Clock } from '../../platform/clock';
import { settledWithin, WakeUpTimer } from '../../platform/timers';
import { type AttemptTally, addTallies, type EndedAttempt, tallyOf } from './attempt-tally';
import type { HealthStore } from './redis-health-store';

export interface HealthRecorderParts {
  readonly healthStore: HealthStore;
  readonly workerId: string;
  /** How many attempts this worker allows an endpoint to have running; `undefined`: not known. */
  readonly limitOf: (endpointId: EndpointId) => number | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

const FLUSH_AFTER_MS = 1_000;
/**
 * When more endpoints than this are attempted within a second, those without news for the longest are not
 * counted.
 */
const MAX_ENDPOINTS = 50_000;
// A millisecond or two of work, after which attempts have their turn.
const WRITTEN_AT_ONCE = 200;
// Enough for a reply of Redis. Statistics are not worth holding up the end of a process for longer.
const STOP_PATIENCE_MS = 1_000;

/**
 * Adds up the results of attempts in memory, and writes them a second after the first one. However many
 * attempts there are, an endpoint is written once a second, together with others. Nothing is written when nothing
 * happens, and no delivery waits for it. What could not be written stays here for the next time. Each write includes
 * how many attempts this worker allows the endpoint to have running. When the connection breaks before the reply, some
 * may count twice.
 */
export class HealthRecorder {
  readonly #tallies = createLru<EndpointId, AttemptTally>(MAX_ENDPOINTS);
  readonly #timer = new WakeUpTimer(() => this.#writeAll());

  constructor(private readonly parts: HealthRecorderParts) {}

  /** @param times of how many deliveries it was the attempt. */
  record(endpointId: EndpointId, attempt: EndedAttempt, times = 1): void {
    this.#add(endpointId, tallyOf(attempt, times));
    this.#timer.wakeUpIn(FLUSH_AFTER_MS);
  }

  /** Write the sums. Resolves when that was tried; one write at a time. */
  async flush(): Promise<void> {
    await this.#timer.runNow();
  }

  async stop(): Promise<void> {
    await settledWithin(
      STOP_PATIENCE_MS,
      this.#timer.stop().then(() => this.flush()),
    );
  }

  async #writeAll(): Promise<void> {
    const { healthStore, workerId, limitOf, clock, emit } = this.parts;
    const taken = [...this.#tallies.entries()];
    this.#tallies.clear();
    let error: unknown;
    for (const some of chunksOf(taken, WRITTEN_AT_ONCE)) {
      const added = some.map(([endpointId, tally]) => ({ endpointId, tally, limit: limitOf(endpointId) }));
      const notAdded = await healthStore.addAll(added, clock(), workerId);
      for (const { added: each } of notAdded) this.#add(each.endpointId, each.tally);
      error ??= notAdded[0]?.error;
    }
    if (error === undefined) return;
    emit({ name: 'task.failed', task: 'store the health of webhooks', error });
    this.#timer.wakeUpIn(FLUSH_AFTER_MS);
  }

  #add(endpointId: EndpointId, tally: AttemptTally): void {
    const known = this.#tallies.get(endpointId);
    this.#tallies.set(endpointId, known ? addTallies(known, tally) : tally);
  }
}
