import { QueueKeys } from 'bullmq';
import type { DelayedJobs } from '../deliveries/bring-forward';
import type { DeliveryParts } from '../deliveries/delivery-id';
import type { QueuedDelivery, ResendQueue } from '../deliveries/resend';
import { storageUnavailable } from '../redis/redis-errors';
import { newDeliveryJob } from './bullmq-delivery-queue';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import { deliveryJobIds } from './delivery-job';
import type { QueueConnection } from './queue-connection';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from './queue-names';

/** Where deliveries are put that are sent once more: at the end of the fast lane's queue. */
export class BullmqResendQueue implements ResendQueue, DelayedJobs {
  readonly #queue: BullmqOnDemandQueue;
  readonly #slowQueue: BullmqOnDemandQueue;
  readonly #queueKeys: QueueKeys;

  constructor(private readonly connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(DELIVERIES_QUEUE, connection);
    this.#slowQueue = new BullmqOnDemandQueue(SLOW_DELIVERIES_QUEUE, connection);
    this.#queueKeys = new QueueKeys(connection.prefix);
  }

  async hasJob(delivery: DeliveryParts): Promise<boolean> {
    return await this.#isAnyThere(this.#jobKeys(delivery));
  }

  // While a worker is at a job, it has a lock.
  async isRunning(delivery: DeliveryParts): Promise<boolean> {
    return await this.#isAnyThere(this.#jobKeys(delivery).map((key) => `${key}:lock`));
  }

  async putBackFailed(delivery: DeliveryParts): Promise<void> {
    const lanes = [
      [DELIVERIES_QUEUE, this.#queue],
      [SLOW_DELIVERIES_QUEUE, this.#slowQueue],
    ] as const;
    await Promise.all(
      lanes.map(async ([name, queue]) => {
        for (const jobId of await this.#failedOf(name, deliveryJobIds(delivery)))
          await queue.retryFailed(jobId);
      }),
    );
  }

  async addAll(deliveries: readonly QueuedDelivery[]): Promise<void> {
    await this.#queue.addAll(deliveries.map((delivery) => newDeliveryJob(delivery.accountId, delivery)));
  }

  async promote(delivery: DeliveryParts): Promise<void> {
    const queues = [this.#queue, this.#slowQueue];
    await Promise.all(
      deliveryJobIds(delivery).flatMap((jobId) => queues.map(async (queue) => await queue.promote(jobId))),
    );
  }

  async close(): Promise<void> {
    await Promise.all([this.#queue.close(), this.#slowQueue.close()]);
  }

  #jobKeys(delivery: DeliveryParts): string[] {
    const queues = [DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE];
    return deliveryJobIds(delivery).flatMap((jobId) =>
      queues.map((queue) => this.#queueKeys.toKey(queue, jobId)),
    );
  }

  async #failedOf(queue: string, jobIds: readonly string[]): Promise<readonly string[]> {
    try {
      const scores = await this.connection.redis.zmscore(this.#queueKeys.toKey(queue, 'failed'), ...jobIds);
      return jobIds.filter((_, i) => scores[i] !== null);
    } catch (error) {
      throw storageUnavailable(error);
    }
  }

  async #isAnyThere(keys: readonly string[]): Promise<boolean> {
    try {
      return (await this.connection.redis.exists(...keys)) > 0;
    } catch (error) {
      throw storageUnavailable(error);
    }
  }
}
