import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../domain/account';
import { ERASURES_QUEUE, REPLAYS_QUEUE } from '../domain/queues';
import type { ReplayOrder } from '../domain/replay';
import type { ErasureQueue } from '../operations/erase-account';
import type { ReplayQueue } from '../replays/manage-replays';
import { BullmqOnDemandQueue, type QueueConnection } from './bullmq-on-demand-queue';

/** The end of the queue of erasures where they are asked for. */
export class BullmqErasureQueue implements ErasureQueue {
  readonly #queue: BullmqOnDemandQueue;

  constructor(connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(ERASURES_QUEUE, connection);
  }

  async add(id: AccountId): Promise<void> {
    const data: ErasureJob = { account_id: id };
    const jobId = erasureJobId(id);
    await this.#queue.add({ name: 'erase', data, opts: { jobId } });
    // BullMQ ignores the same job again: one that failed for good would leave the account half erased for ever.
    await this.#queue.retryFailed(jobId);
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}

/** Erases an account. */
export const erasureJobSchema = z.object({
  account_id: accountIdSchema,
  /** How far it is with what no list leads to. */
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

/** One for each account. An account's id may be a bare integer, which BullMQ does not take. */
function erasureJobId(accountId: AccountId): string {
  return `account.${accountId}`;
}

/** The API's end of the queue of replays: one job for each, with what was asked for. */
export class BullmqReplayQueue implements ReplayQueue {
  readonly #queue: BullmqOnDemandQueue;

  constructor(connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(REPLAYS_QUEUE, connection);
  }

  async add(order: ReplayOrder): Promise<void> {
    await this.#queue.add({ name: 'replay', data: order, opts: { jobId: order.id } });
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
