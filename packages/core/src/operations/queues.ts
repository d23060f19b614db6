import type { AuditLog } from '../accounts/audit/redis-audit-log';
import { DEFAULT_ACCOUNT } from '../domain/account';
import type { Act } from '../domain/audit';
import { type QueueShards, type WorkedQueue, workedQueues } from '../domain/queues';
import type { Clock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { type PausableQueue, PausedQueues } from '../queue/bullmq-paused-queues';
import type { QueueStandings, QueueState } from '../queue/bullmq-queue-standings';

export interface QueuesParts {
  readonly redis: RedisClient;
  readonly shards: QueueShards;
  readonly standings: QueueStandings;
  readonly auditLog: AuditLog;
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

  async pause(name: PausableQueue, act: Act): Promise<void> {
    await this.#record(name, act);
    await this.#pausedQueues.pause(name);
  }

  async resume(name: PausableQueue, act: Act): Promise<void> {
    await this.#record(name, act);
    await this.#pausedQueues.resume(name);
  }

  // First: nothing else could record it if the process died after its last step.
  async #record(name: PausableQueue, act: Act): Promise<void> {
    await this.parts.auditLog.record({ act, accountId: DEFAULT_ACCOUNT, targetId: name });
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
