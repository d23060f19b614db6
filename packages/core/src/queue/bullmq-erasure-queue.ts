import type { ErasureQueue } from '../manage/erase-account';
import type { AccountId } from '../model/event';
import { ERASURES_QUEUE } from '../model/queue-names';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import type { QueueConnection } from './bullmq-open-queue';
import { type ErasureJob, erasureJobId } from './erasure-job';

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
