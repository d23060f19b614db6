import type { ReplayQueue } from '../replays/manage-replays';
import type { ReplayId } from '../replays/replay';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import type { QueueConnection } from './queue-connection';
import { REPLAYS_QUEUE } from './queue-names';

/** The API's end of the queue of replays: one job for each, whose id is the replay's. */
export class BullmqReplayQueue implements ReplayQueue {
  readonly #queue: BullmqOnDemandQueue;

  constructor(connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(REPLAYS_QUEUE, connection);
  }

  async add(id: ReplayId): Promise<void> {
    await this.#queue.add({ name: 'replay', data: {}, opts: { jobId: id } });
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
