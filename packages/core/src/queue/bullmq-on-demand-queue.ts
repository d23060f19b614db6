import type { Queue } from 'bullmq';
import { storageUnavailable } from '../redis/redis-errors';
import { addJobs, type NewJob } from './bullmq-add-jobs';
import { openQueue } from './bullmq-open-queue';
import type { QueueConnection } from './queue-connection';

/**
 * A queue for whoever answers a client and can't wait: adding fails at once while Redis is away.
 *
 * A queue that was made while Redis is away would wait for it without end, and one whose first command fails stays
 * unusable for ever. So it is made on demand, once there is a connection, and anew after a failure.
 */
export class BullmqOnDemandQueue {
  #queue: Queue | undefined;

  constructor(
    private readonly name: string,
    private readonly connection: QueueConnection,
  ) {}

  /** @throws AppError `storage_unavailable`; the job may be on the queue all the same, so add it under an id. */
  async add({ name, data, opts }: NewJob): Promise<void> {
    await this.#reach((queue) => queue.add(name, data, opts));
  }

  /** Not all or nothing: when it throws, some of them may be on the queue. @throws as `add` does. */
  async addAll(jobs: readonly NewJob[]): Promise<void> {
    await this.#reach((queue) => addJobs(queue, jobs));
  }

  async #reach(work: (queue: Queue) => Promise<unknown>): Promise<void> {
    try {
      await work(await this.#open());
    } catch (error) {
      throw storageUnavailable(error);
    }
  }

  async close(): Promise<void> {
    await this.#queue?.close();
  }

  async #open(): Promise<Queue> {
    const { redis } = this.connection;
    if (redis.status !== 'ready') throw new Error(`The connection to Redis is not ready: ${redis.status}.`);
    this.#queue ??= openQueue(this.name, this.connection);
    const queue = this.#queue;
    try {
      await queue.waitUntilReady();
      return queue;
    } catch (error) {
      if (this.#queue === queue) this.#queue = undefined;
      // Or each failure would leave its listeners on the connection.
      await queue.close();
      throw error;
    }
  }
}
