import { REPLAYS_QUEUE } from '../model/queue-names';
import type { ReplayOrder } from '../model/replay';
import type { ReplayQueue } from '../recovery/manage-replays';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import type { QueueConnection } from './bullmq-open-queue';

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
