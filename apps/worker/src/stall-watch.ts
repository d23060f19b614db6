import type { QueueShard, WorkedQueue } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import { answerWithin } from '@hookferry/core/platform/timers';

export interface WatchedQueue {
  readonly queue: WorkedQueue;
  readonly shard: QueueShard;
  /** Counts up whenever this worker begins a job of the queue in this shard, or comes to the end of one. */
  steps(): number;
}

export interface StallWatchOptions {
  /** Those that this worker serves at the moment, in each of its shards. */
  watched(): readonly WatchedQueue[];
  /** Whether there are jobs that workers may take now. */
  hasWaiting(watched: WatchedQueue): Promise<boolean>;
  /** Writes something to Redis; rejects when that can't be reached, or takes no writes. */
  write(): Promise<unknown>;
  /** For how long a worker may do nothing while jobs wait. Milliseconds. */
  readonly stalledAfterMs: number;
  readonly emit: Emit;
}

interface Standstill {
  readonly steps: number;
  /** How many looks in a row have found jobs that wait, and nothing done since the one before. */
  readonly looks: number;
}

// Counted in looks and not by the clock: a process that was stopped itself has looked at nothing meanwhile.
const LOOKS = 4;
const PATIENCE_MS = 1_000;

/**
 * Finds out when this worker takes nothing although jobs wait: then it is of no use, and a new one in its place may be. It is
 * not to blame while Redis is away or takes no writes, and keeps what it has until then.
 */
export class StallWatch {
  readonly #standstills = new WeakMap<WatchedQueue, Standstill>();
  #stalled: WorkedQueue | undefined;
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(private readonly options: StallWatchOptions) {}

  /** The queue that it takes nothing from, if there is one. Answered from memory. */
  get stalledQueue(): WorkedQueue | undefined {
    return this.#stalled;
  }

  start(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#look = this.runOnce().then(() => this.start());
    }, this.options.stalledAfterMs / LOOKS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#look;
  }

  /** Looks once at each. Never rejects. */
  async runOnce(): Promise<void> {
    const looked = await Promise.all(this.options.watched().map((watched) => this.#wakeUpAt(watched)));
    const suspect = looked.find((queue) => queue !== undefined);
    const stalled = suspect !== undefined && (await this.#isOurFault()) ? suspect : undefined;
    if (stalled !== undefined && this.#stalled === undefined) {
      this.options.emit({ name: 'worker.stalled', queue: stalled, forMs: this.options.stalledAfterMs });
    }
    this.#stalled = stalled;
  }

  async #wakeUpAt(watched: WatchedQueue): Promise<WorkedQueue | undefined> {
    const hasWaiting = await answerWithin(PATIENCE_MS, this.options.hasWaiting(watched));
    const before = this.#standstills.get(watched);
    const now = watched.steps();
    if (!hasWaiting) {
      this.#standstills.delete(watched);
      return undefined;
    }
    const looks = before?.steps === now ? before.looks + 1 : 0;
    this.#standstills.set(watched, { steps: now, looks });
    return looks >= LOOKS ? watched.queue : undefined;
  }

  async #isOurFault(): Promise<boolean> {
    return (await answerWithin(PATIENCE_MS, this.options.write())) !== undefined;
  }
}
