import type { DeliveryQueue, NewDelivery } from '../intake/fan-out-event';
import type { RedisClient } from '../kernel/redis-connect';
import type { ScriptTarget } from '../kernel/redis-script';
import type { DeliveryJobs } from '../manage/step-erasure';
import type { DeliveryParts, DeliveryRequested } from '../model/delivery';
import type { QueueShard, QueueShards } from '../model/queue-layout';
import type { DelayedJobs } from '../recovery/bring-forward';
import type { JobRequest, ResendQueue } from '../recovery/resend';
import { BullmqDeliveryQueue } from './bullmq-delivery-queue';
import { byShard, PerShard } from './per-shard';

type RequestedDelivery = NewDelivery & { readonly request: DeliveryRequested };

/**
 * The queue of deliveries, in shards: an endpoint's are in one. What is added is put there; what is looked for is looked for
 * wherever it may be while the queues are being split anew.
 */
export class ShardedDeliveryQueue implements DeliveryQueue, ResendQueue, DelayedJobs, DeliveryJobs {
  readonly #queues: PerShard<BullmqDeliveryQueue>;

  constructor(
    redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#queues = new PerShard(redis, (connection) => new BullmqDeliveryQueue(connection));
  }

  async addAll(deliveries: readonly NewDelivery[], target?: ScriptTarget): Promise<void> {
    await this.#inHomes(deliveries, (queue, some) => queue.addAll(some, target));
  }

  async addRequested(deliveries: readonly RequestedDelivery[]): Promise<void> {
    await this.#inHomes(deliveries, (queue, some) => queue.addRequested(some));
  }

  /** Gives a delivery its job at home that has one elsewhere. @returns whether that one may go. */
  async bringHome(
    delivery: NewDelivery & { readonly request?: DeliveryRequested | undefined },
  ): Promise<boolean> {
    return await this.#queues.in(this.shards.homeOf(delivery.endpointId)).takeIn(delivery);
  }

  async requestOf(delivery: DeliveryParts): Promise<JobRequest> {
    const requests = await this.#ask(delivery, (queue) => queue.requestOf(delivery));
    return requests.find((request) => request !== 'no_job') ?? 'no_job';
  }

  async isRunning(delivery: DeliveryParts): Promise<boolean> {
    return (await this.#ask(delivery, (queue) => queue.isRunning(delivery))).includes(true);
  }

  async isRunningIn(shards: readonly QueueShard[], delivery: DeliveryParts): Promise<boolean> {
    const answers = this.#queues.inEach(shards).map((queue) => queue.isRunning(delivery));
    return (await Promise.all(answers)).includes(true);
  }

  async promote(delivery: DeliveryParts): Promise<void> {
    await this.#ask(delivery, (queue) => queue.promote(delivery));
  }

  async putBackFailed(delivery: DeliveryParts): Promise<void> {
    await this.#ask(delivery, (queue) => queue.putBackFailed(delivery));
  }

  async removeIdle(deliveries: readonly DeliveryParts[]): Promise<readonly DeliveryParts[]> {
    const busy = await Promise.all(
      deliveries.map(async (delivery) => {
        const answers = await this.#ask(delivery, (queue) => queue.removeIdle([delivery]));
        return answers.some((some) => some.length > 0);
      }),
    );
    return deliveries.filter((_delivery, i) => busy[i]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.made().map((queue) => queue.close()));
  }

  async #inHomes<Delivery extends DeliveryParts>(
    deliveries: readonly Delivery[],
    add: (queue: BullmqDeliveryQueue, some: readonly Delivery[]) => Promise<void>,
  ): Promise<void> {
    const groups = byShard(deliveries, ({ endpointId }) => this.shards.homeOf(endpointId));
    await Promise.all(groups.map(([shard, some]) => add(this.#queues.in(shard), some)));
  }

  async #ask<Answer>(
    { endpointId }: DeliveryParts,
    question: (queue: BullmqDeliveryQueue) => Promise<Answer>,
  ): Promise<readonly Answer[]> {
    return await Promise.all(this.#queues.inEach(this.shards.homesOf(endpointId)).map(question));
  }
}
