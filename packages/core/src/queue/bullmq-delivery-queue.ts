import { z } from 'zod';
import type { DeliveryQueue, NewDelivery } from '../intake/fan-out-event';
import { parsedOrUndefined } from '../kernel/json';
import type { RedisClient } from '../kernel/redis-connect';
import { storageUnavailable } from '../kernel/redis-errors';
import { defineScript, type ScriptTarget } from '../kernel/redis-script';
import type { DeliveryJobs } from '../manage/step-erasure';
import { type DeliveryParts, type DeliveryRequested, deliveryIdOf } from '../model/delivery';
import type { AccountId } from '../model/event';
import { queueKeysOf } from '../model/keys';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import type { DelayedJobs } from '../recovery/bring-forward';
import type { JobRequest, ResendQueue } from '../recovery/resend';
import { createAddDeliveries, type DeliveryToAdd } from './bullmq-add-deliveries';
import { createJobKeys, type JobKeys, jobFields } from './bullmq-layout';
import { BullmqOnDemandQueue } from './bullmq-on-demand-queue';
import type { QueueConnection } from './bullmq-open-queue';
import { type DeliveryJob, deliveryJobSchema, encodeRequest } from './delivery-job';
import { FAIR_ORDER } from './fair-order';

const ONE_STEP = 1;
// What is sent once more can wait longer than what is new.
const STEP_OF_REPLAYS = 4;

/**
 * The queue of deliveries. Each has one job, for as long as it is not at its end, whose id is the delivery's: adding it
 * again changes nothing.
 */
export class BullmqDeliveryQueue implements DeliveryQueue, ResendQueue, DelayedJobs, DeliveryJobs {
  readonly #queue: BullmqOnDemandQueue;
  readonly #keys: JobKeys;
  readonly #fairOrder: BullmqFairOrder;
  readonly #addDeliveries: ReturnType<typeof createAddDeliveries>;

  constructor(private readonly connection: QueueConnection) {
    this.#queue = new BullmqOnDemandQueue(DELIVERIES_QUEUE, connection);
    this.#keys = createJobKeys(connection.prefix, DELIVERIES_QUEUE);
    this.#fairOrder = new BullmqFairOrder(connection, DELIVERIES_QUEUE);
    this.#addDeliveries = createAddDeliveries(connection);
  }

  async addAll(deliveries: readonly NewDelivery[], target?: ScriptTarget): Promise<void> {
    await this.#addDeliveries(
      deliveries.map((delivery) => toAdd(delivery)),
      target,
    );
  }

  async addRequested(
    deliveries: readonly (NewDelivery & { readonly request: DeliveryRequested })[],
  ): Promise<void> {
    await this.#addDeliveries(deliveries.map(({ request, ...delivery }) => toAdd(delivery, request)));
  }

  /**
   * Gives a delivery its job that has one elsewhere.
   *
   * @returns whether that one may go. Not so while a worker is at the one that was here before: what it read may be older than
   *   what the other was added for.
   */
  async takeIn({ request, ...delivery }: NewDelivery & { readonly request?: DeliveryRequested | undefined }) {
    if ((await this.#addDeliveries([toAdd(delivery, request)])) === 1) return true;
    await this.putBackFailed(delivery);
    return !(await this.isRunning(delivery)) && (await this.hasJob(delivery));
  }

  async requestOf(delivery: DeliveryParts): Promise<JobRequest> {
    const stored = await this.#ask((redis) =>
      redis.hget(this.#keys.job(deliveryIdOf(delivery)), jobFields.data),
    );
    if (stored === null) return 'no_job';
    const data = deliveryJobSchema.safeParse(parsedOrUndefined(stored)).data;
    return data?.request === undefined ? 'no_request' : { requestId: data.request.id };
  }

  /** Whether there is a job, in whichever state. */
  async hasJob(delivery: DeliveryParts): Promise<boolean> {
    return (await this.#ask((redis) => redis.exists(this.#keys.job(deliveryIdOf(delivery))))) > 0;
  }

  // While a worker is at a job, it has a lock.
  async isRunning(delivery: DeliveryParts): Promise<boolean> {
    return (await this.#ask((redis) => redis.exists(this.#keys.lock(deliveryIdOf(delivery))))) > 0;
  }

  async promote(delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    const dueAt = await this.#ask((redis) => redis.zscore(this.#keys.delayed, jobId));
    if (dueAt === null) return;
    await this.#placeAnew(delivery);
    await this.#queue.promote(jobId);
  }

  async putBackFailed(delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    const failedAt = await this.#ask((redis) => redis.zscore(this.#keys.failed, jobId));
    if (failedAt === null) return;
    await this.#placeAnew(delivery);
    await this.#queue.retryFailed(jobId);
  }

  async removeIdle(deliveries: readonly DeliveryParts[]): Promise<readonly DeliveryParts[]> {
    const isBusy = await Promise.all(deliveries.map((delivery) => this.#removeIfIdle(delivery)));
    return deliveries.filter((_delivery, index) => isBusy[index]);
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  // BullMQ would put it where it was when it came: behind all of today's, or before them.
  async #placeAnew(delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    const stored = await this.#ask((redis) => redis.hget(this.#keys.job(jobId), jobFields.data));
    const accountId = deliveryJobSchema.safeParse(parsedOrUndefined(stored ?? '')).data?.account_id;
    if (accountId === undefined) return;
    const priority = await this.#fairOrder.priorityOf(accountId, delivery.endpointId);
    await this.#queue.changePriority(jobId, priority);
  }

  // Most have none at all, which one command tells. One that is to be taken next is left alone: it ends by itself.
  async #removeIfIdle(delivery: DeliveryParts): Promise<boolean> {
    const jobId = deliveryIdOf(delivery);
    if (!(await this.hasJob(delivery))) return false;
    if (await this.isRunning(delivery)) return true;
    const places = await Promise.all(
      [this.#keys.delayed, this.#keys.failed].map((key) => this.#ask((redis) => redis.zscore(key, jobId))),
    );
    if (places.every((place) => place === null)) return false;
    // It may be taken at this very moment: then it stays.
    return !(await this.#queue.remove(jobId));
  }

  async #ask<Answer>(question: (redis: RedisClient) => Promise<Answer>): Promise<Answer> {
    try {
      return await question(this.connection.redis);
    } catch (error) {
      throw storageUnavailable(error);
    }
  }
}

function toAdd(delivery: NewDelivery, request?: DeliveryRequested): DeliveryToAdd {
  const data: DeliveryJob = {
    account_id: delivery.accountId,
    ...(request === undefined ? {} : { request: encodeRequest(request) }),
  };
  return { ...delivery, data, step: request?.trigger === 'replay' ? STEP_OF_REPLAYS : ONE_STEP };
}

// KEYS: prioritized, state, weights. ARGV: account, flow.
const PRIORITY = defineScript(`${FAIR_ORDER}
  local priority_of, finish = fair_order(KEYS[1], KEYS[2], KEYS[3])
  local priority = priority_of(ARGV[1], ARGV[2], 1)
  finish()
  return priority`);

/** Gives a job that is to be put back its place in a queue's fair order, for BullMQ to put it there. */
export class BullmqFairOrder {
  readonly #keys: readonly string[];

  constructor(
    private readonly connection: QueueConnection,
    queue: string,
  ) {
    const { prioritized } = createJobKeys(connection.prefix, queue);
    const { fairOrder, accountWeights } = queueKeysOf(connection.prefix);
    this.#keys = [prioritized, fairOrder(queue), accountWeights];
  }

  /** BullMQ's `priority`. @throws AppError `storage_unavailable`. */
  async priorityOf(accountId: AccountId, flow: string): Promise<number> {
    try {
      return z.number().parse(await PRIORITY(this.connection.redis, this.#keys, [accountId, flow]));
    } catch (error) {
      throw storageUnavailable(error);
    }
  }
}
