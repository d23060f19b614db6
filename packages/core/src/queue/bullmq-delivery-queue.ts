import { z } from 'zod';
import { accountIdSchema } from '../domain/account';
import {
  type DeliveryParts,
  type DeliveryRequested,
  deliveryIdOf,
  type NewDelivery,
  triggers,
} from '../domain/delivery';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import { systemClock } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import { type RedisClient, throwStorageErrors } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';
import { createJobKeys, type JobKeys, jobFields, PUT_BACK } from './bullmq-layout';
import { OnDemandQueue } from './bullmq-on-demand-queue';
import { FAIR_ORDER } from './fair-order';
import { byShard, PerShard } from './per-shard';

export interface RequestedDelivery extends NewDelivery {
  readonly request: DeliveryRequested;
}

/** What a delivery's job was added for: by no request, or there is no job. */
export type JobRequest = 'no_job' | 'no_request' | { readonly requestId: string };

/** The queue in one shard. */
interface Shard {
  readonly queue: OnDemandQueue;
  readonly keys: JobKeys;
  readonly addKeys: readonly string[];
  readonly priorityKeys: readonly string[];
}

/**
 * The queue of deliveries. Each has one job, for as long as it is not at its end, whose id is the delivery's: adding it again
 * changes nothing. An endpoint's are in one shard: what is added is put there; what is looked for is looked for wherever it
 * may be while the queues are being split anew.
 */
export class DeliveryQueue {
  readonly #shards: PerShard<Shard>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#shards = new PerShard((prefix) => openShard(redis, prefix));
  }

  /** When it throws, they may be on the queue all the same. */
  async addAll(deliveries: readonly NewDelivery[], target: ScriptTarget = this.redis): Promise<void> {
    await this.#addToHomeShards(
      deliveries.map((delivery) => toAdd(delivery)),
      target,
    );
  }

  /** Each with what was asked for. One that has a job already is ignored: `requestOf` tells. */
  async addRequested(deliveries: readonly RequestedDelivery[]): Promise<void> {
    await this.#addToHomeShards(
      deliveries.map(({ request, ...delivery }) => toAdd(delivery, request)),
      this.redis,
    );
  }

  /**
   * Gives a delivery that has a job elsewhere its job in its home shard.
   *
   * @returns whether that one may go. Not so while a worker is at the one that was here before: what it read may be older than
   *   what the other was added for.
   */
  async moveToHomeShard({
    request,
    ...delivery
  }: NewDelivery & { readonly request?: DeliveryRequested | undefined }): Promise<boolean> {
    const homeShard = this.#shards.in(this.shards.homeShardOf(delivery.endpointId));
    if ((await addJobs(homeShard, [toAdd(delivery, request)], this.redis)) === 1) return true;
    await this.#putBackFailedIn(homeShard, delivery);
    return !(await this.#isRunningIn(homeShard, delivery)) && (await this.#hasJobIn(homeShard, delivery));
  }

  async requestOf(delivery: DeliveryParts): Promise<JobRequest> {
    const requests = await this.#inEach(delivery, (shard) => this.#requestIn(shard, delivery));
    return requests.find((request) => request !== 'no_job') ?? 'no_job';
  }

  /** Whether a worker is at it. */
  async isRunning(delivery: DeliveryParts): Promise<boolean> {
    return (await this.#inEach(delivery, (shard) => this.#isRunningIn(shard, delivery))).includes(true);
  }

  async isRunningIn(shards: readonly QueueShard[], delivery: DeliveryParts): Promise<boolean> {
    const isRunning = this.#shards.inEach(shards).map((shard) => this.#isRunningIn(shard, delivery));
    return (await Promise.all(isRunning)).includes(true);
  }

  /** If its job waits for a time to come, it waits no longer. Otherwise nothing happens. */
  async promote(delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    await this.#inEach(delivery, async (shard) => {
      if ((await this.redis.zscore(shard.keys.delayed, jobId)) === null) return;
      await this.#placeAnew(shard, delivery);
      await shard.queue.promote(jobId);
    });
  }

  /** If its job has failed for good, it is put back. Otherwise nothing happens. */
  async putBackFailed(delivery: DeliveryParts): Promise<void> {
    await this.#inEach(delivery, (shard) => this.#putBackFailedIn(shard, delivery));
  }

  /** Takes those away that wait for their time or have failed for good; gives the deliveries that are being attempted. */
  async removeIdle(deliveries: readonly DeliveryParts[]): Promise<readonly DeliveryParts[]> {
    const isBusy = await Promise.all(
      deliveries.map(async (delivery) => {
        return (await this.#inEach(delivery, (shard) => this.#removeIfIdle(shard, delivery))).includes(true);
      }),
    );
    return deliveries.filter((_delivery, i) => isBusy[i]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#shards.made().map(({ queue }) => queue.close()));
  }

  async #addToHomeShards(deliveries: readonly DeliveryToAdd[], target: ScriptTarget): Promise<void> {
    const groups = byShard(deliveries, ({ endpointId }) => this.shards.homeShardOf(endpointId));
    await Promise.all(groups.map(([shard, some]) => addJobs(this.#shards.in(shard), some, target)));
  }

  async #inEach<Found>(
    { endpointId }: DeliveryParts,
    find: (shard: Shard) => Promise<Found>,
  ): Promise<readonly Found[]> {
    return await Promise.all(this.#shards.inEach(this.shards.homeShardsOf(endpointId)).map(find));
  }

  async #requestIn({ keys }: Shard, delivery: DeliveryParts): Promise<JobRequest> {
    const stored = await this.redis.hget(keys.job(deliveryIdOf(delivery)), jobFields.data);
    if (stored === null) return 'no_job';
    const data = deliveryJobSchema.safeParse(parsedOrUndefined(stored)).data;
    return data?.request === undefined ? 'no_request' : { requestId: data.request.id };
  }

  // In whichever state.
  async #hasJobIn({ keys }: Shard, delivery: DeliveryParts): Promise<boolean> {
    return (await this.redis.exists(keys.job(deliveryIdOf(delivery)))) > 0;
  }

  // While a worker is at a job, it has a lock.
  async #isRunningIn({ keys }: Shard, delivery: DeliveryParts): Promise<boolean> {
    return (await this.redis.exists(keys.lock(deliveryIdOf(delivery)))) > 0;
  }

  async #putBackFailedIn(shard: Shard, delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    if ((await this.redis.zscore(shard.keys.failed, jobId)) === null) return;
    await this.#placeAnew(shard, delivery);
    await shard.queue.retryFailed(jobId);
  }

  // BullMQ would put it where it was when it came: behind all of today's, or before them.
  async #placeAnew({ queue, keys, priorityKeys }: Shard, delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    const stored = await this.redis.hget(keys.job(jobId), jobFields.data);
    const accountId = deliveryJobSchema.safeParse(parsedOrUndefined(stored ?? '')).data?.account_id;
    if (accountId === undefined) return;
    const priority = await PRIORITY(this.redis, priorityKeys, [accountId, delivery.endpointId]);
    await queue.changePriority(jobId, z.number().parse(priority));
  }

  // Most have none at all, which one command tells. One that is to be taken next is left alone: it ends by itself.
  async #removeIfIdle(shard: Shard, delivery: DeliveryParts): Promise<boolean> {
    const jobId = deliveryIdOf(delivery);
    if (!(await this.#hasJobIn(shard, delivery))) return false;
    if (await this.#isRunningIn(shard, delivery)) return true;
    const { delayed, failed } = shard.keys;
    const scores = await Promise.all([delayed, failed].map((key) => this.redis.zscore(key, jobId)));
    if (scores.every((score) => score === null)) return false;
    // It may be taken at this very moment: then it stays.
    return !(await shard.queue.remove(jobId));
  }
}

throwStorageErrors(DeliveryQueue);

function openShard(redis: RedisClient, prefix: string): Shard {
  const keys = createJobKeys(prefix, DELIVERIES_QUEUE);
  const { prioritized, priorityCounter, meta, active, marker, events } = keys;
  const { fairOrder, accountWeights } = queueKeysOf(prefix);
  const order = [fairOrder(DELIVERIES_QUEUE), accountWeights];
  return {
    queue: new OnDemandQueue(DELIVERIES_QUEUE, { redis, prefix }),
    keys,
    addKeys: [prioritized, priorityCounter, meta, active, marker, events, ...order],
    priorityKeys: [prioritized, ...order],
  };
}

interface DeliveryToAdd extends NewDelivery {
  readonly data: DeliveryJob;
  /** How much of its account's turn it takes up; more for what can wait, such as a replay. */
  readonly step: number;
}

const ONE_STEP = 1;
// What is sent once more can wait longer than what is new.
const STEP_OF_REPLAYS = 4;

function toAdd(delivery: NewDelivery, request?: DeliveryRequested): DeliveryToAdd {
  const data: DeliveryJob = {
    account_id: delivery.accountId,
    ...(request === undefined ? {} : { request: encodeRequest(request) }),
  };
  return { ...delivery, data, step: request?.trigger === 'replay' ? STEP_OF_REPLAYS : ONE_STEP };
}

/** Shortest names for what each pending delivery repeats: the job's id says the rest. */
const JOB_NAME = 'd';

// The retry policy decides when a delivery is at its end; BullMQ only has to be far from deciding it first. Each option is
// stored with each job, so there are no more than needed: what is the same for every job (its removal, its backoff) is the
// worker's setting.
const JOB_OPTIONS = JSON.stringify({ attempts: 10_000 });

// As BullMQ's own `add` does it, but each at its position in the fair order, all in one step, and without what only jobs that
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

/** Gives deliveries their jobs. One that has a job keeps that, in whichever state. @returns how many had none before. */
async function addJobs(
  { keys, addKeys }: Shard,
  deliveries: readonly DeliveryToAdd[],
  target: ScriptTarget,
): Promise<number> {
  if (deliveries.length === 0) return 0;
  const args = deliveries.flatMap(argumentsOf);
  return z.number().parse(await ADD(target, addKeys, [keys.base, systemClock(), ...args]));
}

function argumentsOf({ data, step, ...delivery }: DeliveryToAdd): readonly (string | number)[] {
  const { accountId, endpointId, acceptedAt = '' } = delivery;
  return [accountId, endpointId, deliveryIdOf(delivery), JSON.stringify(data), step, acceptedAt];
}

// The priority of a job that is to be put back, for BullMQ to put it there. KEYS: prioritized, state, weights. ARGV: account,
// flow.
const PRIORITY = defineScript(`${FAIR_ORDER}
  local priority_of, finish = fair_order(KEYS[1], KEYS[2], KEYS[3])
  local priority = priority_of(ARGV[1], ARGV[2], 1)
  finish()
  return priority`);

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
