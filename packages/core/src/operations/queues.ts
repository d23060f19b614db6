import type { PauseStore } from '../accounts/redis-pause-store';
import type { Act } from '../domain/audit';
import type { Pause } from '../domain/pause';
import { type QueueShards, type WorkedQueue, workedQueues } from '../domain/queues';
import type { Clock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { type PausableQueue, PausedQueues } from '../queue/bullmq-paused-queues';
import type { QueueStandings, QueueState } from '../queue/bullmq-queue-standings';

export interface QueuesParts {
  readonly redis: RedisClient;
  readonly shards: QueueShards;
  readonly standings: QueueStandings;
  readonly pauseStore: PauseStore;
  readonly clock: Clock;
}

/** A queue in all of its shards together. */
export interface WholeQueue extends Omit<QueueState, 'shard' | 'isPaused'> {
  readonly pausedShards: number;
  readonly shards: number;
}

/** The queues, and pausing them: no worker takes another job from one until it is resumed. */
export class Queues {
  readonly #pausedQueues: PausedQueues;

  constructor(private readonly parts: QueuesParts) {
    this.#pausedQueues = new PausedQueues(parts.redis, parts.shards);
  }

  /** @throws Error of Redis when it can't be reached. */
  async list(): Promise<readonly WholeQueue[]> {
    const { queues } = await this.parts.standings.read(this.parts.clock());
    return workedQueues.map((name) => wholeOf(name, queues));
  }

  /**
   * A queue that is paused already keeps who paused it, when, and why.
   *
   * @returns the pause that holds after the call; `undefined`: somebody resumed it meanwhile.
   * @throws Error of Redis when it can't be reached. The same call again completes it.
   */
  async pause(name: PausableQueue, reason: string | undefined, act: Act): Promise<Pause | undefined> {
    await this.parts.pauseStore.pause({ kind: 'queue', id: name }, reason, act);
    return await this.#settle(name);
  }

  /** Likewise. */
  async resume(name: PausableQueue, act: Act): Promise<Pause | undefined> {
    await this.parts.pauseStore.resume({ kind: 'queue', id: name }, act);
    return await this.#settle(name);
  }

  // The record decides, and is looked at again behind each step: of a pause and a resumption at the same time the later one
  // holds for all shards.
  async #settle(name: PausableQueue): Promise<Pause | undefined> {
    const find = () => this.parts.pauseStore.find({ kind: 'queue', id: name });
    for (let pause = await find(); ; ) {
      await (pause ? this.#pausedQueues.pause(name) : this.#pausedQueues.resume(name));
      const now = await find();
      if ((now === undefined) === (pause === undefined)) return now;
      pause = now;
    }
  }
}

function wholeOf(name: WorkedQueue, queues: readonly QueueState[]): WholeQueue {
  const parts = queues.filter((queue) => queue.name === name);
  const sumOf = (count: (part: QueueState) => number) => parts.reduce((sum, part) => sum + count(part), 0);
  return {
    name,
    pausedShards: sumOf(({ isPaused }) => Number(isPaused)),
    shards: parts.length,
    waiting: sumOf(({ waiting }) => waiting),
    active: sumOf(({ active }) => active),
    delayed: sumOf(({ delayed }) => delayed),
    failed: sumOf(({ failed }) => failed),
    oldestWaitedMs: Math.max(0, ...parts.map(({ oldestWaitedMs }) => oldestWaitedMs)),
  };
}
