import type { AuditLog } from '../accounts/audit/redis-audit-log';
import { DEFAULT_ACCOUNT } from '../domain/account';
import type { Act } from '../domain/audit';
import { type PausableQueue, type PausedQueues, pausableQueues } from '../queue/bullmq-paused-queues';

export interface QueuesParts {
  readonly pausedQueues: PausedQueues;
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
  constructor(private readonly parts: QueuesParts) {}

  async list(): Promise<readonly QueuePause[]> {
    const { pausedQueues } = this.parts;
    return await Promise.all(
      pausableQueues.map(async (name) => ({ name, ...(await pausedQueues.read(name)) })),
    );
  }

  async pause(name: PausableQueue, act: Act): Promise<void> {
    await this.#record(name, act);
    await this.parts.pausedQueues.pause(name);
  }

  async resume(name: PausableQueue, act: Act): Promise<void> {
    await this.#record(name, act);
    await this.parts.pausedQueues.resume(name);
  }

  // First: nothing else could record it if the process died after its last step.
  async #record(name: PausableQueue, act: Act): Promise<void> {
    await this.parts.auditLog.record({ act, accountId: DEFAULT_ACCOUNT, targetId: name });
  }
}
