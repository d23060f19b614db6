import type { WorkedQueue } from '../domain/queues';
import type { Emit } from '../domain/signal';
import type { Atomic } from '../platform/redis-atomic';
import { answerWithin, WakeUpTimer } from '../platform/timers';
import type { QueueStandings } from '../queue/bullmq-queue-standings';

export interface PauseWatchParts {
  readonly standings: QueueStandings;
  readonly atomic: Atomic;
  readonly emit: Emit;
}

const LOOK_EVERY_S = 5;
// A look goes to Redis together with other scripts, if there are some within this time.
const TOGETHER_MS = 1_000;
const PATIENCE_MS = 1_000;

/** Tells when an operator pauses or resumes a queue: a worker that takes nothing then does as it was told. */
export class PauseWatch {
  readonly #paused = new Set<WorkedQueue>();
  readonly #timer = new WakeUpTimer(async () => {
    await this.runOnce();
    this.#timer.wakeUpInAbout(LOOK_EVERY_S);
  });

  constructor(private readonly parts: PauseWatchParts) {}

  /** A process that starts while a queue is paused tells that too. */
  start(): void {
    void this.#timer.runNow();
  }

  async stop(): Promise<void> {
    await this.parts.atomic([]);
    await this.#timer.stop();
  }

  /** Looks at each queue once. Never rejects: what it knows stays while Redis is away. */
  async runOnce(): Promise<void> {
    const { standings, atomic, emit } = this.parts;
    const look = standings.readPaused(async (step) => (await atomic([step], TOGETHER_MS))[0]);
    for (const { queue, isPaused } of (await answerWithin(TOGETHER_MS + PATIENCE_MS, look)) ?? []) {
      if (isPaused === this.#paused.has(queue)) continue;
      if (isPaused) this.#paused.add(queue);
      else this.#paused.delete(queue);
      emit({ name: isPaused ? 'queue.paused' : 'queue.resumed', queue });
    }
  }
}
