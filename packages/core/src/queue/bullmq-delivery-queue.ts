import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../domain/account';
import { type DeliveryParts, type DeliveryRequested, deliveryIdOf, triggers } from '../domain/delivery';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import type { DeliveryJobs } from '../operations/erase-account';
import { systemClock } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import { type RedisClient, storageUnavailable } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';
import type { DeliveryQueue, NewDelivery } from '../publish/fan-out-event';
import type { DelayedJobs, JobRequest, ResendQueue } from '../replays/redeliver';
import { createJobKeys, type JobKeys, jobFields, PUT_BACK } from './bullmq-layout';
import { BullmqOnDemandQueue, type QueueConnection } from './bullmq-on-demand-queue';
import { FAIR_ORDER } from './fair-order';
import { byShard, PerShard } from './shards-in-force';

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
    await this.#inHomeShards(deliveries, (queue, some) => queue.addAll(some, target));
  }

  async addRequested(deliveries: readonly RequestedDelivery[]): Promise<void> {
    await this.#inHomeShards(deliveries, (queue, some) => queue.addRequested(some));
  }

  /** Gives a delivery its job at home that has one elsewhere. @returns whether that one may go. */
  async moveToHomeShard(
    delivery: NewDelivery & { readonly request?: DeliveryRequested | undefined },
  ): Promise<boolean> {
    return await this.#queues.in(this.shards.homeShardOf(delivery.endpointId)).takeIn(delivery);
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

  async #inHomeShards<Delivery extends DeliveryParts>(
    deliveries: readonly Delivery[],
    add: (queue: BullmqDeliveryQueue, some: readonly Delivery[]) => Promise<void>,
  ): Promise<void> {
    const groups = byShard(deliveries, ({ endpointId }) => this.shards.homeShardOf(endpointId));
    await Promise.all(groups.map(([shard, some]) => add(this.#queues.in(shard), some)));
  }

  async #ask<Answer>(
    { endpointId }: DeliveryParts,
    question: (queue: BullmqDeliveryQueue) => Promise<Answer>,
  ): Promise<readonly Answer[]> {
    return await Promise.all(this.#queues.inEach(this.shards.homeShardsOf(endpointId)).map(question));
  }
}

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
class BullmqFairOrder {
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

/** A delivery that is to have a job. */
export interface DeliveryToAdd extends NewDelivery {
  readonly data: DeliveryJob;
  /** How much of its account's turn it takes up; more for what can wait, such as a replay. */
  readonly step: number;
}

/** Shortest names for what each pending delivery repeats: the job's id says the rest. */
const JOB_NAME = 'd';

// The retry policy decides when a delivery is at its end; BullMQ only has to be far from deciding it first. Each option is
// stored with each job, so there are no more than needed: what is the same for every job (its removal, its backoff) is the
// worker's setting.
const JOB_OPTIONS = JSON.stringify({ attempts: 10_000 });

// As BullMQ's own `add` does it, but each at its place in the fair order, all in one step, and without what only jobs that
// belong together need. KEYS: prioritized, priority counter, meta, active, marker, events, the fair order's state, weights.
// ARGV: what the keys of jobs begin with, now, then account, endpoint, job, data, length of its step and time of acceptance
// ('' if unknown) of each. Gives how many were added.
const ADD = defineScript(`${FAIR_ORDER}${PUT_BACK}
  local prioritized, counter, meta, active, marker, events = unpack(KEYS)
  local queue = {base = ARGV[1], prioritized = prioritized, counter = counter, meta = meta, active = active}
  queue.marker, queue.events = marker, events
  local priority_of, finish = fair_order(prioritized, KEYS[7], KEYS[8])
  local added = 0
  for i = 3, #ARGV, 6 do
    local account, endpoint, job, data, step, accepted_at = unpack(ARGV, i, i + 5)
    if redis.call('EXISTS', queue.base .. job) == 0 then
      redis.call('HSET', queue.base .. job, 'name', '${JOB_NAME}', 'data', data, 'opts', '${JOB_OPTIONS}',
        'timestamp', ARGV[2], 'delay', 0, '${jobFields.acceptedAt}', accepted_at)
      put_in_place(queue, job, priority_of(account, endpoint, tonumber(step)))
      redis.call('XADD', events, 'MAXLEN', '~', 10000, '*', 'event', 'waiting', 'jobId', job)
      added = added + 1
    end
  end
  if added > 0 then
    finish()
    wake_workers(queue)
  end
  return added`);

/** Gives deliveries their jobs. One that has a job keeps that, in whichever state. */
export function createAddDeliveries({ redis, prefix }: QueueConnection) {
  const jobKeys = createJobKeys(prefix, DELIVERIES_QUEUE);
  const { prioritized, priorityCounter, meta, active, marker, events } = jobKeys;
  const { fairOrder, accountWeights } = queueKeysOf(prefix);
  const order = [fairOrder(DELIVERIES_QUEUE), accountWeights];
  const scriptKeys = [prioritized, priorityCounter, meta, active, marker, events, ...order];

  /** How many had no job before. @throws AppError `storage_unavailable`; they may be on the queue all the same. */
  return async function addDeliveries(
    deliveries: readonly DeliveryToAdd[],
    target: ScriptTarget = redis,
  ): Promise<number> {
    if (deliveries.length === 0) return 0;
    try {
      const added = await ADD(target, scriptKeys, [
        jobKeys.base,
        systemClock(),
        ...deliveries.flatMap(argumentsOf),
      ]);
      return z.number().parse(added);
    } catch (error) {
      throw storageUnavailable(error);
    }
  };
}

function argumentsOf({ data, step, ...delivery }: DeliveryToAdd): readonly (string | number)[] {
  const { accountId, endpointId, acceptedAt = '' } = delivery;
  return [accountId, endpointId, deliveryIdOf(delivery), JSON.stringify(data), step, acceptedAt];
}

/** A delivery's job: its id is the delivery's id, so the account is nearly all it carries. Never payload, never secret. */
export const deliveryJobSchema = z.object({
  account_id: accountIdSchema,
  /** What it was added for, if somebody has asked for the delivery to be sent once more. */
  request: z
    .object({ id: z.string(), trigger: z.enum(triggers).exclude(['schedule']), at: z.number() })
    .optional(),
});
export type DeliveryJob = z.input<typeof deliveryJobSchema>;

export function encodeRequest({
  requestId: id,
  trigger,
  requestedAt: at,
}: DeliveryRequested): NonNullable<DeliveryJob['request']> {
  return { id, trigger, at };
}

export function decodeRequest({
  request,
}: z.output<typeof deliveryJobSchema>): DeliveryRequested | undefined {
  return request && { requestId: request.id, trigger: request.trigger, requestedAt: request.at };
}
