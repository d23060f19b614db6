import type { WorkedQueue } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { RedisProbe } from '@hookferry/core/platform/redis-probe';
import { answerWithin, WakeUpTimer } from '@hookferry/core/platform/timers';
import type { QueueStandings } from '@hookferry/core/queue/bullmq-queue-standings';
import type { ServedShards, WatchedQueue } from './shard-consumers';

export interface StallWatchParts {
  readonly servedShards: ServedShards;
  readonly standings: QueueStandings;
  readonly redisProbe: RedisProbe;
  readonly atomic: Atomic;
  /** How long a worker may do nothing while jobs wait. Milliseconds. */
  readonly stalledAfterMs: number;
  readonly emit: Emit;
}

interface Standstill {
  readonly beginsAndEnds: number;
  /** How many checks in a row have found waiting jobs, and that none has begun or ended since the check before. */
  readonly checks: number;
}

// Counted in checks and not by the clock: a process that was itself stopped has checked nothing meanwhile.
const CHECKS = 4;
const PATIENCE_MS = 1_000;
// A check goes to Redis together with other scripts, if there are some within this time.
const TOGETHER_MS = 1_000;

/**
 * Detects that this worker takes no jobs although some wait: then it is useless, and a new one in its place
 * may help. It is not to blame while Redis is away or refuses writes, and keeps its last result until then.
 */
export class StallWatch {
  readonly #standstills = new WeakMap<WatchedQueue, Standstill>();
  readonly #timer = new WakeUpTimer(async () => {
    await this.runOnce();
    this.start();
  });
  #stalled: WorkedQueue | undefined;

  constructor(private readonly parts: StallWatchParts) {}

  /** The queue that it takes nothing from, if there is one. Read from memory. */
  get stalledQueue(): WorkedQueue | undefined {
    return this.#stalled;
  }

  start(): void {
    this.#timer.wakeUpIn(this.parts.stalledAfterMs / CHECKS);
  }

  async stop(): Promise<void> {
    await this.#timer.stop();
  }

  /** Checks each queue once. Never rejects. */
  async runOnce(): Promise<void> {
    const { servedShards, stalledAfterMs, emit } = this.parts;
    const checked = await Promise.all(servedShards.watched().map((watched) => this.#check(watched)));
    const suspect = checked.find((queue) => queue !== undefined);
    const stalled = suspect !== undefined && (await this.#takesWrites()) ? suspect : undefined;
    if (stalled !== undefined && this.#stalled === undefined) {
      emit({ name: 'worker.stalled', queue: stalled, forMs: stalledAfterMs });
    }
    this.#stalled = stalled;
  }

  async #check(watched: WatchedQueue): Promise<WorkedQueue | undefined> {
    const { queue, shard } = watched;
    const { standings, atomic } = this.parts;
    const look = atomic([standings.hasWaiting(queue, shard)], TOGETHER_MS);
    const [hasWaiting] = (await answerWithin(TOGETHER_MS + PATIENCE_MS, look)) ?? [false];
    const before = this.#standstills.get(watched);
    const now = watched.beginsAndEnds();
    if (!hasWaiting) {
      this.#standstills.delete(watched);
      return undefined;
    }
    const checks = before?.beginsAndEnds === now ? before.checks + 1 : 0;
    this.#standstills.set(watched, { beginsAndEnds: now, checks });
    return checks >= CHECKS ? queue : undefined;
  }

  async #takesWrites(): Promise<boolean> {
    return (await this.parts.redisProbe.look()).kind === 'takes_writes';
  }
}
