import { z } from 'zod';
import { accountIdSchema } from '../domain/account';
import {
  type DeliveryParts,
  type DeliveryRequested,
  deliveryIdOf,
  type NewDelivery,
  triggers,
} from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import type { ScriptRows } from '../platform/redis-rows';
import { defineGuard, defineScript, type ScriptTarget } from '../platform/redis-script';
import { findInAny } from '../platform/redis-timeline';
import { createJobKeys, type JobKeys, jobFields } from './bullmq-layout';
import { OnDemandQueue } from './bullmq-on-demand-queue';
import { FAIR_ORDER, PUT_BACK } from './libraries';
import { byShard, PerShard } from './per-shard';

export interface RequestedDelivery extends NewDelivery {
  readonly request: DeliveryRequested;
}

/** The request that a delivery's job was added for: `no_request` without one, `no_job` without a job. */
export type JobRequest = 'no_job' | 'no_request' | { readonly requestId: string };

/** The queue in one shard. */
interface Shard {
  readonly queue: OnDemandQueue;
  readonly keys: JobKeys;
  readonly held: (endpointId: EndpointId) => string;
  readonly addKeys: readonly string[];
  readonly priorityKeys: readonly string[];
}

/**
 * The queue of deliveries. Each delivery has one job until it ends, with the delivery's id: adding it again
 * changes nothing. An endpoint's jobs go to its home shard. Lookups search all shards that may hold the job
 * while the queues are being split again.
 */
export class DeliveryQueue {
  readonly #shards: PerShard<Shard>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
  ) {
    this.#shards = new PerShard((prefix) => openShard(redis, prefix));
  }

  /** When it throws, the jobs may still be on the queue. */
  async addAll(deliveries: readonly NewDelivery[], target: ScriptTarget = this.redis): Promise<void> {
    await this.#addToHomeShards(
      deliveries.map((delivery) => toAdd(delivery)),
      target,
    );
  }

  /** Add each with its request. A delivery that has a job already is ignored: see `requestOf`. */
  async addRequested(deliveries: readonly RequestedDelivery[]): Promise<void> {
    await this.#addToHomeShards(
      deliveries.map(({ request, ...delivery }) => toAdd(delivery, request)),
      this.redis,
    );
  }

  /**
   * Gives a delivery that has a job elsewhere its job in its home shard.
   *
   * @returns whether the other job may be removed. It must stay while a worker runs the job that was at home
   *   before: that worker may have read its data before the other job was added.
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

  /**
   * A guard: what comes after it runs only for deliveries that nothing will send. They have no job in any
   * state, failed ones included, and are not held.
   */
  async guardUnplaced(rows: readonly DeliveryParts[], target: ScriptRows): Promise<void> {
    const homes = new Map(
      rows.map(({ endpointId }) => [endpointId, this.#shards.inEach(this.shards.homeShardsOf(endpointId))]),
    );
    const most = Math.max(...[...homes.values()].map((shards) => shards.length));
    const asked = Array.from({ length: most }, (_, i) =>
      target.call(
        UNPLACED,
        rows,
        ({ endpointId, eventId }) => {
          // Each row has as many calls: where there are fewer homes, one is asked once more.
          const shards = homes.get(endpointId) ?? [];
          const shard = shards[i % shards.length];
          const id = deliveryIdOf({ endpointId, eventId });
          return shard ? [shard.keys.job(id), shard.held(endpointId)] : [];
        },
        ({ eventId }) => [eventId],
      ),
    );
    await Promise.all(asked);
  }

  /** Whether a worker runs it now. */
  async isRunning(delivery: DeliveryParts): Promise<boolean> {
    return (await this.#inEach(delivery, (shard) => this.#isRunningIn(shard, delivery))).includes(true);
  }

  async isRunningIn(shards: readonly QueueShard[], delivery: DeliveryParts): Promise<boolean> {
    const isRunning = this.#shards.inEach(shards).map((shard) => this.#isRunningIn(shard, delivery));
    return (await Promise.all(isRunning)).includes(true);
  }

  /** The events of the endpoint whose jobs are delayed, among these. They stay in order. */
  async findDelayed(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    const areDelayed = await findInAny(
      this.redis,
      shards.map(({ keys }) => keys.delayed),
      eventIds.map((eventId) => deliveryIdOf({ eventId, endpointId })),
    );
    return eventIds.filter((_, i) => areDelayed[i]);
  }

  /** End the delay of its job, if it has one. Otherwise nothing happens. */
  async promote(delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    await this.#inEach(delivery, async (shard) => {
      if ((await this.redis.zscore(shard.keys.delayed, jobId)) === null) return;
      await this.#placeAnew(shard, delivery);
      await shard.queue.promote(jobId);
    });
  }

  /** Put its job back, if that has failed for good. Otherwise nothing happens. */
  async putBackFailed(delivery: DeliveryParts): Promise<void> {
    await this.#inEach(delivery, (shard) => this.#putBackFailedIn(shard, delivery));
  }

  /**
   * Remove the jobs that are delayed or have failed for good. Gives the deliveries that are being attempted.
   */
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

  // In any state.
  async #hasJobIn({ keys }: Shard, delivery: DeliveryParts): Promise<boolean> {
    return (await this.redis.exists(keys.job(deliveryIdOf(delivery)))) > 0;
  }

  // A job has a lock while a worker runs it.
  async #isRunningIn({ keys }: Shard, delivery: DeliveryParts): Promise<boolean> {
    return (await this.redis.exists(keys.lock(deliveryIdOf(delivery)))) > 0;
  }

  async #putBackFailedIn(shard: Shard, delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    if ((await this.redis.zscore(shard.keys.failed, jobId)) === null) return;
    await this.#placeAnew(shard, delivery);
    await shard.queue.retryFailed(jobId);
  }

  // BullMQ would give it its original position: behind all of today's jobs, or before them.
  async #placeAnew({ queue, keys, priorityKeys }: Shard, delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    const stored = await this.redis.hget(keys.job(jobId), jobFields.data);
    const accountId = deliveryJobSchema.safeParse(parsedOrUndefined(stored ?? '')).data?.account_id;
    if (accountId === undefined) return;
    const priority = await PRIORITY(this.redis, priorityKeys, [accountId, delivery.endpointId]);
    await queue.changePriority(jobId, z.number().parse(priority));
  }

  // Most deliveries have no job, which one command tells. A job that is taken next is left alone: it ends by
  // itself.
  async #removeIfIdle(shard: Shard, delivery: DeliveryParts): Promise<boolean> {
    const jobId = deliveryIdOf(delivery);
    if (!(await this.#hasJobIn(shard, delivery))) return false;
    if (await this.#isRunningIn(shard, delivery)) return true;
    const { delayed, failed } = shard.keys;
    const scores = await Promise.all([delayed, failed].map((key) => this.redis.zscore(key, jobId)));
    if (scores.every((score) => score === null)) return false;
    // A worker may take it at this very moment: then it stays.
    return !(await shard.queue.remove(jobId));
  }
}

function openShard(redis: RedisClient, prefix: string): Shard {
  const keys = createJobKeys(prefix, DELIVERIES_QUEUE);
  const { prioritized, priorityCounter, meta, active, marker } = keys;
  const { fairOrder, accountWeights, held } = queueKeysOf(prefix);
  const order = [fairOrder(DELIVERIES_QUEUE), accountWeights];
  return {
    queue: new OnDemandQueue(DELIVERIES_QUEUE, { redis, prefix }),
    keys,
    held,
    addKeys: [prioritized, priorityCounter, meta, active, marker, ...order],
    priorityKeys: [prioritized, ...order],
  };
}

interface DeliveryToAdd extends NewDelivery {
  readonly data: DeliveryJob;
  /** How much of its account's turn it takes; more for deliveries that can wait, such as a replay's. */
  readonly step: number;
}

const ONE_STEP = 1;
// A repeated delivery can wait longer than a new one.
const STEP_OF_REPLAYS = 4;

function toAdd(delivery: NewDelivery, request?: DeliveryRequested): DeliveryToAdd {
  const data: DeliveryJob = {
    account_id: delivery.accountId,
    ...(request === undefined ? {} : { request: encodeRequest(request) }),
  };
  return { data, step: request?.trigger === 'replay' ? STEP_OF_REPLAYS : ONE_STEP, ...delivery };
}

/** A short name, since each pending delivery repeats it. The job's id carries the rest. */
const JOB_NAME = 'd';

// The retry policy decides when a delivery ends. BullMQ only has to be far from deciding it first. Each job
// stores its options, so this has only the needed one: settings that are equal for all jobs (removal,
// backoff) are the worker's.
const JOB_OPTIONS = JSON.stringify({ attempts: 10_000 });

// As BullMQ's own `add`, but each job gets its position in the fair order, all in one step, and without the
// parts for parents and children, and the entry in a stream of events that nobody reads. KEYS: prioritized,
// priority counter, meta, active, marker, the fair order's state, weights. ARGV: prefix of the jobs' keys, then account, endpoint, job, data, length of
// its step and time of acceptance ('' if unknown) of each. Gives how many were added.
const ADD = defineScript(
  `
  local prioritized, counter, meta, active, marker = unpack(KEYS)
  local queue = {base = ARGV[1], prioritized = prioritized, counter = counter, meta = meta, active = active, marker = marker}
  local priority_of, finish, look_up = fair_order(prioritized, KEYS[6], KEYS[7])
  local added, priorities, jobs, seen, flows_of = {}, {}, {}, {}, {}
  local time = redis.call('TIME')
  local now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
  for i = 2, #ARGV, 6 do
    local account, endpoint, job = unpack(ARGV, i, i + 2)
    jobs[#jobs + 1] = queue.base .. job
    local flows = flows_of[account] or {}
    flows_of[account] = flows
    -- Often all are an endpoint's.
    if flows[#flows] ~= endpoint then flows[#flows + 1] = endpoint end
  end
  for account, flows in pairs(flows_of) do look_up(account, flows) end
  -- Mostly none of them is there.
  local is_any_there = redis.call('EXISTS', unpack(jobs)) > 0
  for i = 2, #ARGV, 6 do
    local account, endpoint, job, data, step, accepted_at = unpack(ARGV, i, i + 5)
    if not seen[job] and (not is_any_there or redis.call('EXISTS', queue.base .. job) == 0) then
      seen[job] = true
      local priority = priority_of(account, endpoint, tonumber(step))
      redis.call('HSET', queue.base .. job, 'name', '${JOB_NAME}', 'data', data, 'opts', '${JOB_OPTIONS}',
        'timestamp', now, 'delay', 0, 'priority', priority, '${jobFields.acceptedAt}', accepted_at)
      added[#added + 1] = job
      priorities[#added] = priority
    end
  end
  if #added > 0 then
    put_in_place(queue, added, priorities)
    finish()
    wake_workers(queue)
  end
  return #added`,
  FAIR_ORDER,
  PUT_BACK,
);

// KEYS: job, held. ARGV: event.
const UNPLACED = defineGuard(`
  if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
  return 1`);

// Made once: it costs more than a use of it.
const addedSchema = z.number();

/** Give deliveries their jobs. An existing job stays, in any state. @returns how many had none before. */
async function addJobs(
  { keys, addKeys }: Shard,
  deliveries: readonly DeliveryToAdd[],
  target: ScriptTarget,
): Promise<number> {
  if (deliveries.length === 0) return 0;
  const args = deliveries.flatMap(argumentsOf);
  return addedSchema.parse(await ADD(target, addKeys, [keys.base, ...args]));
}

function argumentsOf({ data, step, ...delivery }: DeliveryToAdd): readonly (string | number)[] {
  const { accountId, endpointId, acceptedAt = '' } = delivery;
  return [accountId, endpointId, deliveryIdOf(delivery), JSON.stringify(data), step, acceptedAt];
}

// The priority for BullMQ to put a job back with. KEYS: prioritized, state, weights. ARGV: account, flow.
const PRIORITY = defineScript(
  `
  local priority_of, finish = fair_order(KEYS[1], KEYS[2], KEYS[3])
  local priority = priority_of(ARGV[1], ARGV[2], 1)
  finish()
  return priority`,
  FAIR_ORDER,
);

/**
 * A delivery's job: its id is the delivery's id, so it carries little more than the account. Never payload,
 * never secret.
 */
export const deliveryJobSchema = z.object({
  account_id: accountIdSchema,
  /** The request that it was added for, if a client requested the delivery once more. */
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
