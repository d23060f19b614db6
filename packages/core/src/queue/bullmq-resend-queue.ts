import { QueueKeys } from 'bullmq';
import type { DeliveryParts } from '../deliveries/delivery-id';
import type { ResendQueue } from '../deliveries/resend';
import type { AccountId } from '../events/event';
import { jobSides } from '../gates/parked';
import { storageUnavailable } from '../redis/redis-errors';
import { newDeliveryJob } from './bullmq-delivery-queue';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import { deliveryJobId } from './delivery-job';
import type { QueueConnection } from './queue-connection';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from './queue-names';

/** Where deliveries are put that are sent once more: at the end of the fast lane's queue. */
export class BullmqResendQueue implements ResendQueue {
  readonly #queue: BullmqOnDemandQueue;
  readonly #queueKeys: QueueKeys;

  constructor(private readonly connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(DELIVERIES_QUEUE, connection);
    this.#queueKeys = new QueueKeys(connection.prefix);
  }

  async hasJob(delivery: DeliveryParts): Promise<boolean> {
    const jobs = jobSides.flatMap((side) => {
      const jobId = deliveryJobId(delivery, side);
      return [DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE].map((queue) => this.#queueKeys.toKey(queue, jobId));
    });
    try {
      return (await this.connection.redis.exists(...jobs)) > 0;
    } catch (error) {
      throw storageUnavailable(error);
    }
  }

  async add(accountId: AccountId, delivery: DeliveryParts): Promise<void> {
    await this.#queue.add(newDeliveryJob(accountId, delivery));
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
