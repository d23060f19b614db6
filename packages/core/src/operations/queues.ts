import type { AuditLog } from '../accounts/audit/redis-audit-log';
import { DEFAULT_ACCOUNT } from '../domain/account';
import type { Act } from '../domain/audit';
import type { QueueShards } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { type PausableQueue, PausedQueues, pausableQueues } from '../queue/bullmq-paused-queues';

export interface QueuesParts {
  readonly redis: RedisClient;
  readonly shards: QueueShards;
  readonly auditLog: AuditLog;
}

/** In how many of how many shards a queue is paused. */
export interface QueuePause {
  readonly name: PausableQueue;
  readonly pausedShards: number;
  readonly shards: number;
}

/** The queues that an operator may pause: no worker takes another job from one until it is resumed. */
export class Queues {
  readonly #pausedQueues: PausedQueues;

  constructor(private readonly parts: QueuesParts) {
    this.#pausedQueues = new PausedQueues(parts.redis, parts.shards);
  }

  async list(): Promise<readonly QueuePause[]> {
    return await Promise.all(
      pausableQueues.map(async (name) => ({ name, ...(await this.#pausedQueues.read(name)) })),
    );
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
