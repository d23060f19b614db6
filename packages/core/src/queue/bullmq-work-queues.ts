import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../domain/account';
import { ERASURES_QUEUE, type QueueShards, REPLAYS_QUEUE } from '../domain/queues';
import type { ReplayOrder } from '../domain/replay';
import type { RedisClient } from '../platform/redis-connect';
import { OnDemandQueue } from './bullmq-on-demand-queue';

/** The queue of accounts to erase, in the first shard. Adding the same one again is harmless. */
export class ErasureQueue {
  readonly #queue: OnDemandQueue;

  constructor(redis: RedisClient, { first }: Pick<QueueShards, 'first'>) {
    this.#queue = new OnDemandQueue(ERASURES_QUEUE, { redis, prefix: first.prefix });
  }

  async add(id: AccountId): Promise<void> {
    const data: ErasureJob = { account_id: id };
    const jobId = erasureJobId(id);
    await this.#queue.add({ name: 'erase', data, opts: { jobId } });
    // BullMQ ignores the same job again: one that failed for good would leave the account half erased for
    // ever.
    await this.#queue.retryFailed(jobId);
  }
}

/** Erases an account. */
export const erasureJobSchema = z.object({
  account_id: accountIdSchema,
  /** The cursor of the search for data that no list leads to. */
  place: z
    .object({
      queue: z.number(),
      after: z.object({ id: z.string(), at: z.number() }).optional(),
      shard: z.number().optional(),
      of: z.number().optional(),
      search: z
        .object({ masters: z.array(z.string()).readonly(), master: z.string(), cursor: z.string() })
        .optional(),
    })
    .optional(),
});
export type ErasureJob = z.input<typeof erasureJobSchema>;

/** One for each account. An account's id may be a bare integer, which BullMQ refuses. */
function erasureJobId(accountId: AccountId): string {
  return `account.${accountId}`;
}

/** The queue of replays, in the first shard: one job for each. Adding the same one again is harmless. */
export class ReplayQueue {
  readonly #queue: OnDemandQueue;

  constructor(redis: RedisClient, { first }: Pick<QueueShards, 'first'>) {
    this.#queue = new OnDemandQueue(REPLAYS_QUEUE, { redis, prefix: first.prefix });
  }

  async add(order: ReplayOrder): Promise<void> {
    await this.#queue.add({ name: 'replay', data: order, opts: { jobId: order.id } });
  }
}
