import { type Queue, QueueKeys } from 'bullmq';
import type { DeliveryParts } from '../deliveries/delivery-id';
import type { DeliveryJobs } from '../erasure/step-erasure';
import { openQueue } from './bullmq-open-queue';
import { deliveryJobIds } from './delivery-job';
import type { QueueConnection } from './queue-connection';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from './queue-names';

type Lane = typeof DELIVERIES_QUEUE | typeof SLOW_DELIVERIES_QUEUE;

/**
 * Finds the jobs of deliveries by their ids, in both lanes.
 *
 * Relies on where BullMQ 6 has a job: a worker that is at it holds `<job>:lock`, one that waits for its time is in
 * `delayed`, one that failed for good in `failed`. One that is to be taken next is left alone: to look for it in a long
 * list takes long, and it ends by itself.
 */
export class BullmqDeliveryJobs implements DeliveryJobs {
  readonly #queueKeys: QueueKeys;
  readonly #queues: Readonly<Record<Lane, Queue>>;

  constructor(private readonly connection: QueueConnection) {
    this.#queueKeys = new QueueKeys(connection.prefix);
    this.#queues = {
      [DELIVERIES_QUEUE]: openQueue(DELIVERIES_QUEUE, connection),
      [SLOW_DELIVERIES_QUEUE]: openQueue(SLOW_DELIVERIES_QUEUE, connection),
    };
  }

  async removeIdle(deliveries: readonly DeliveryParts[]): Promise<readonly DeliveryParts[]> {
    const isBusy = await Promise.all(deliveries.map((delivery) => this.#removeOne(delivery)));
    return deliveries.filter((_delivery, index) => isBusy[index]);
  }

  // Most have none at all, which one command tells.
  async #removeOne(delivery: DeliveryParts): Promise<boolean> {
    const jobs = deliveryJobIds(delivery).flatMap((jobId) => [
      { lane: DELIVERIES_QUEUE, jobId } as const,
      { lane: SLOW_DELIVERIES_QUEUE, jobId } as const,
    ]);
    const found = await this.connection.redis.exists(
      ...jobs.map(({ lane, jobId }) => this.#key(lane, jobId)),
    );
    if (found === 0) return false;
    const isBusy = await Promise.all(jobs.map(({ lane, jobId }) => this.#removeJob(lane, jobId)));
    return isBusy.includes(true);
  }

  async #removeJob(lane: Lane, jobId: string): Promise<boolean> {
    const { redis } = this.connection;
    if ((await redis.exists(this.#key(lane, `${jobId}:lock`))) > 0) return true;
    const places = ['delayed', 'failed'].map((state) => redis.zscore(this.#key(lane, state), jobId));
    if ((await Promise.all(places)).every((place) => place === null)) return false;
    // It may be taken at this very moment: then it stays.
    return (await this.#queues[lane].remove(jobId)) === 0;
  }

  #key(lane: Lane, name: string): string {
    return this.#queueKeys.toKey(lane, name);
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#queues).map((queue) => queue.close()));
  }
}
