import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../domain/account';
import {
  batchJobIdOf,
  type DeliveryParts,
  type DeliveryRequested,
  type DeliveryRun,
  deliveryIdOf,
  encodePlace,
  isBefore,
  type LanePlace,
  type LaneRun,
  laneJobIdOf,
  type NewDelivery,
  triggers,
} from '../domain/delivery';
import { type EndpointAddress, type EndpointId, type LaneName, laneNameOf } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf, type ShardKeys } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import { parsedOrUndefined } from '../platform/json';
import { mapReply, together } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import { findInAny } from '../platform/redis-timeline';
import {
  addDeliveries,
  checkUnplaced,
  endDelays,
  findHeads,
  findRunning,
  nextPriority,
} from './bullmq-delivery-queue.script';
import {
  addToLanes,
  bringHeadForward,
  dropFromLane,
  type LaneStandingReply,
  laneStanding,
} from './bullmq-lanes.script';
import { createJobKeys, type JobKeys, jobFields } from './bullmq-layout';
import { OnDemandQueue } from './bullmq-on-demand-queue';
import { dropFromBatch } from './bullmq-running-batches.script';
import type { TakenHead } from './bullmq-running-jobs';
import { byShard, PerShard } from './per-shard';

export interface RequestedDelivery extends NewDelivery {
  readonly request: DeliveryRequested;
}

/** The request that a delivery's job was added for: `no_request` without one, `no_job` without a job. */
export type JobRequest = 'no_job' | 'no_request' | { readonly requestId: string };

/** The result for deliveries that were to be sent sooner. */
export interface Promoted {
  /** Those that a worker runs. */
  readonly running: ReadonlySet<EventId>;
  /** Those whose own jobs have failed for good. */
  readonly haveFailed: ReadonlySet<EventId>;
}

export interface DeliveryKeys {
  readonly jobs: readonly string[];
  readonly holds: readonly string[];
  readonly batches: readonly string[];
}

/** The queue in one shard. */
interface Shard {
  readonly queue: OnDemandQueue;
  readonly keys: JobKeys;
  readonly shard: ShardKeys;
  /** The state of the fair order. */
  readonly order: string;
}

/**
 * The queue of deliveries. Each delivery has one job until it ends, with the delivery's id, or is an entry of its endpoint's
 * lane, or is in a batch: adding it again changes nothing. An endpoint's jobs go to its home shard. Lookups search all shards that may hold the job
 * while the queues are being split again.
 */
export class DeliveryQueue {
  readonly #shards: PerShard<Shard>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
    /** With `RECORD_FORM=former`: what would go into lanes gets jobs, and places beside them. */
    private readonly besideLanes?: JoinedBesideLanes,
  ) {
    this.#shards = new PerShard((prefix) => openShard(redis, prefix));
  }

  /** When it throws, the jobs may still be on the queue. */
  async addAll(deliveries: readonly NewDelivery[]): Promise<void> {
    await this.stepToAdd(deliveries)(this.redis);
  }

  /** As `addAll`, together with other steps. */
  stepToAdd(deliveries: readonly NewDelivery[]): Step<void> {
    return this.#stepToAdd(deliveries.map((delivery) => toAdd(delivery)));
  }

  /** Add each with its request. A delivery that has a job already is ignored: see `requestOf`. */
  async addRequested(deliveries: readonly RequestedDelivery[]): Promise<void> {
    const requested = deliveries.map(({ request, ...delivery }) => toAdd(delivery, request));
    await this.#stepToAdd(requested)(this.redis);
  }

  /**
   * Gives a delivery that has a job elsewhere its job in its home shard, if it is not in a lane or a batch there.
   *
   * @returns whether the other job may be removed. It must stay while a worker has what was at home before: that worker may have read
   *   its data before the other job was added, or may be moving it here, as workers do not agree for seconds where home is.
   */
  async moveToHomeShard({
    request,
    ...delivery
  }: NewDelivery & { readonly request?: DeliveryRequested | undefined }): Promise<boolean> {
    const homeShard = this.#shards.in(this.shards.homeShardOf(delivery.endpointId));
    if ((await addJobs(homeShard, [toAdd(delivery, request)])(this.redis)) === 1) return true;
    await this.#putBackFailedIn(homeShard, delivery);
    return await this.#staysIn(homeShard, delivery);
  }

  /**
   * Add entries of a lane in their home shard, as they are elsewhere. The lane there goes on with what had its turn, and knows what
   * was sent last.
   *
   * @param head of the lane, as it was taken.
   * @returns those that are there, and may be removed here: none while a worker has the lane there. See `moveToHomeShard`.
   */
  async moveEntriesHome(
    { accountId, endpointId, lane }: EndpointAddress & { readonly lane: LaneName },
    entries: readonly LanePlace[],
    head: Pick<TakenHead, 'eventId' | 'hadBegun' | 'isInBatches' | 'sent' | 'members'>,
  ): Promise<readonly EventId[]> {
    const { hadBegun, isInBatches, sent, members } = head;
    const homeShard = this.#shards.in(this.shards.homeShardOf(endpointId));
    const added = entries.map(({ eventId, acceptedAt, request }) => ({
      accountId,
      lane,
      eventId,
      acceptedAt,
      request,
      isInBatches,
    }));
    const turn = hadBegun ? { head: head.eventId, members } : {};
    if (!(await addEntries(homeShard, added, { ...turn, sent, only: 'if_idle' })(this.redis))) return [];
    const requested = entries.filter(({ request }) => request !== undefined);
    await Promise.all(
      requested.map(({ eventId }) => this.#putBackFailedIn(homeShard, { endpointId, eventId })),
    );
    const stay = await Promise.all(
      entries.map(({ eventId }) => this.#staysIn(homeShard, { endpointId, eventId })),
    );
    return entries.filter((_entry, i) => stay[i]).map(({ eventId }) => eventId);
  }

  /**
   * Make a delivery an entry of its lane in each of these shards that has that. So the lane stays there, and what was sent last with it.
   *
   * @returns whether there are any.
   */
  async joinLaneIn(
    shards: readonly QueueShard[],
    { accountId, eventId, request }: DeliveryRun,
    { name: lane, place: acceptedAt }: Pick<LaneRun, 'name' | 'place'>,
  ): Promise<boolean> {
    const stored = request && JSON.stringify(encodeRequest(request));
    const entry = { accountId, lane, eventId, acceptedAt, request: stored };
    const joined = this.#shards
      .inEach(shards)
      .map((shard) => addEntries(shard, [entry], { only: 'if_there' })(this.redis));
    return (await Promise.all(joined)).includes(true);
  }

  /** Whether a lane begins with an older delivery in one of these shards. */
  async hasOlderIn(shards: readonly QueueShard[], lane: LaneName, entry: LanePlace): Promise<boolean> {
    const read = this.#shards
      .inEach(shards)
      .map(({ shard }) => this.redis.zrange(shard.lane(lane), '0', '0', 'WITHSCORES'));
    return (await Promise.all(read)).some(([eventId, place]) => {
      return eventId && isBefore({ eventId: eventId as EventId, acceptedAt: Number(place) }, entry);
    });
  }

  async requestOf(delivery: DeliveryParts): Promise<JobRequest> {
    const requests = await this.#inEach(delivery, (shard) => this.#requestIn(shard, delivery));
    return requests.find((request) => request !== 'no_job') ?? 'no_job';
  }

  /** The keys of its job, and of what has its event if it is held, in a lane or in a batch: of each shard that may have it. */
  keysOf({ endpointId, eventId }: DeliveryParts): DeliveryKeys {
    const id = deliveryIdOf({ endpointId, eventId });
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    return {
      jobs: shards.map(({ keys }) => keys.job(id)),
      holds: shards.flatMap(({ shard }) => [
        shard.held(endpointId),
        shard.lane(laneNameOf(endpointId)),
        shard.grouped(endpointId),
      ]),
      batches: shards.map(({ shard }) => shard.batches(endpointId)),
    };
  }

  /** Whether nothing will send a delivery: it has no job in any state, failed ones included, is not held, and in no lane and no batch. */
  guardUnplaced({ endpointId, eventId }: DeliveryParts): Guard {
    const id = deliveryIdOf({ endpointId, eventId });
    const checks = this.#shards.inEach(this.shards.homeShardsOf(endpointId)).map(({ keys, shard }) => {
      return checkUnplaced({
        job: keys.job(id),
        held: shard.held(endpointId),
        lane: shard.lane(laneNameOf(endpointId)),
        lines: shard.lines(endpointId),
        batches: shard.batches(endpointId),
        event: eventId,
      });
    });
    const [check] = checks;
    return check && checks.length === 1 ? check : together(checks);
  }

  /** Those of some deliveries of an endpoint that a worker runs now. */
  async findRunning(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>> {
    if (eventIds.length === 0) return new Set();
    const running = await this.#inEach({ endpointId }, (shard) =>
      this.#runningIn(shard, endpointId, eventIds),
    );
    return new Set(running.flat());
  }

  async isRunningIn(shards: readonly QueueShard[], delivery: DeliveryParts): Promise<boolean> {
    const { endpointId, eventId } = delivery;
    const running = this.#shards.inEach(shards).map((shard) => this.#runningIn(shard, endpointId, [eventId]));
    return (await Promise.all(running)).some((some) => some.length > 0);
  }

  /** The events of the endpoint whose own jobs, or whose batches, are delayed, among these. They stay in order. */
  async findDelayed(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    if (eventIds.length === 0) return [];
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    const areDelayed = await Promise.all(
      shards.map(async ({ keys, shard }) => {
        const names = await this.redis.hmget(shard.batches(endpointId), ...eventIds);
        const jobIds = eventIds.map((eventId, i) => jobIdOf({ eventId, endpointId }, names[i]));
        return await findInAny(this.redis, [keys.delayed], jobIds);
      }),
    );
    return eventIds.filter((_, i) => areDelayed.some((inShard) => inShard[i]));
  }

  /**
   * The heads of lanes with which some deliveries of an endpoint go together, if they are no heads themselves: they go when the head
   * does.
   */
  async findHeads(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>> {
    if (eventIds.length === 0) return new Set();
    const heads = await this.#inEach({ endpointId }, ({ keys, shard }) =>
      findHeads({
        lines: shard.lines(endpointId),
        base: keys.base,
        tag: shard.tag,
        endpoint: endpointId,
        ofEvents: eventIds,
      })(this.redis),
    );
    return new Set(heads.flat());
  }

  /**
   * End the delays of the jobs of some deliveries of an endpoint, of their batches, or of their lanes if they are the heads there, or
   * come next. The others stay as they are.
   */
  async promote(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<Promoted> {
    if (eventIds.length === 0) return { running: new Set(), haveFailed: new Set() };
    const promoted = await this.#inEach({ endpointId }, ({ keys, shard, order }) =>
      endDelays({
        jobs: keys,
        orderState: order,
        weights: shard.accountWeights,
        base: keys.base,
        tag: shard.tag,
        endpoint: endpointId,
        ofEvents: eventIds,
      })(this.redis),
    );
    return {
      running: new Set(promoted.flatMap(({ running }) => running)),
      haveFailed: new Set(promoted.flatMap(({ haveFailed }) => haveFailed)),
    };
  }

  /** Put its job back, if that has failed for good, or that of its lane. Otherwise nothing happens. */
  async putBackFailed(delivery: DeliveryParts): Promise<void> {
    await this.#inEach(delivery, (shard) => this.#putBackFailedIn(shard, delivery));
  }

  /**
   * Remove the jobs that are delayed or have failed for good, and entries of lanes. Gives the deliveries that are being attempted.
   */
  async removeIdle(deliveries: readonly DeliveryParts[]): Promise<readonly DeliveryParts[]> {
    const isBusy = await Promise.all(
      deliveries.map(async (delivery) => {
        return (await this.#inEach(delivery, (shard) => this.#removeIfIdle(shard, delivery))).includes(true);
      }),
    );
    return deliveries.filter((_delivery, i) => isBusy[i]);
  }

  #stepToAdd(deliveries: readonly DeliveryToAdd[]): Step<void> {
    const groups = byShard(deliveries, ({ endpointId }) => this.shards.homeShardOf(endpointId));
    const steps = groups.flatMap<Step>(([prefix, some]) => {
      const shard = this.#shards.in(prefix);
      const inLanes = some.filter(goesIntoLane);
      if (inLanes.length === 0) return [addJobs(shard, some)];
      if (this.besideLanes) return [...joinBeside(this.besideLanes, inLanes), addJobs(shard, some)];
      const entries = addEntries(shard, inLanes.map(toEntry));
      const others = some.filter((delivery) => !goesIntoLane(delivery));
      return others.length === 0 ? [entries] : [entries, addJobs(shard, others)];
    });
    return mapReply(together(steps), () => {});
  }

  async #inEach<Found>(
    { endpointId }: Pick<DeliveryParts, 'endpointId'>,
    find: (shard: Shard) => Promise<Found>,
  ): Promise<readonly Found[]> {
    return await Promise.all(this.#shards.inEach(this.shards.homeShardsOf(endpointId)).map(find));
  }

  async #requestIn({ keys, shard }: Shard, delivery: DeliveryParts): Promise<JobRequest> {
    const stored = await this.redis.hget(keys.job(deliveryIdOf(delivery)), jobFields.data);
    if (stored === null) {
      const inBatch = await this.#requestInBatch(keys, shard, delivery);
      return inBatch === 'no_job' ? await this.#requestInLane(shard, delivery) : inBatch;
    }
    const data = deliveryJobSchema.safeParse(parsedOrUndefined(stored)).data;
    return data?.request === undefined ? 'no_request' : { requestId: data.request.id };
  }

  async #requestInBatch(
    keys: JobKeys,
    shard: ShardKeys,
    { endpointId, eventId }: DeliveryParts,
  ): Promise<JobRequest> {
    const name = await this.redis.hget(shard.batches(endpointId), eventId);
    if (name === null) return 'no_job';
    const job = keys.job(batchJobIdOf(name, endpointId));
    return requestIn(await this.redis.hget(job, `request ${eventId}`));
  }

  async #requestInLane(shard: ShardKeys, delivery: DeliveryParts): Promise<JobRequest> {
    const lane = await findLaneOf(this.redis, shard, delivery);
    if (lane === undefined) return 'no_job';
    return requestIn(await this.redis.hget(shard.carried(lane), delivery.eventId));
  }

  async #jobIdOf({ shard }: Shard, delivery: DeliveryParts): Promise<string> {
    const { endpointId, eventId } = delivery;
    return jobIdOf(delivery, await this.redis.hget(shard.batches(endpointId), eventId));
  }

  async #bringHeadForward({ keys, shard, order }: Shard, delivery: DeliveryParts): Promise<void> {
    const lane = await findLaneOf(this.redis, shard, delivery);
    if (lane === undefined) return;
    await bringHeadForward({
      jobs: keys,
      lane: shard.lane(lane),
      weights: shard.accountWeights,
      orderState: order,
      base: keys.base,
      tag: shard.tag,
      name: lane,
      event: delivery.eventId,
    })(this.redis);
  }

  // In any state.
  async #hasJobIn({ keys }: Shard, delivery: DeliveryParts): Promise<boolean> {
    return (await this.redis.exists(keys.job(deliveryIdOf(delivery)))) > 0;
  }

  // It has a job in any state, or is in a lane or a batch.
  async #isPlacedIn(shard: Shard, delivery: DeliveryParts): Promise<boolean> {
    if (await this.#hasJobIn(shard, delivery)) return true;
    const { endpointId, eventId } = delivery;
    const [lane, batch] = await Promise.all([
      findLaneOf(this.redis, shard.shard, delivery),
      this.redis.hexists(shard.shard.batches(endpointId), eventId),
    ]);
    return lane !== undefined || batch > 0;
  }

  // Nothing can take it away from there: what takes its lock after this finds the delivery locked where it comes from. So the locks are
  // asked for first.
  async #staysIn(shard: Shard, delivery: DeliveryParts): Promise<boolean> {
    const lane = await findLaneOf(this.redis, shard.shard, delivery);
    const jobIds = [
      deliveryIdOf(delivery),
      laneJobIdOf(lane ?? laneNameOf(delivery.endpointId)),
      await this.#jobIdOf(shard, delivery),
    ];
    const locked = await this.redis.exists(...jobIds.map((jobId) => shard.keys.lock(jobId)));
    return locked === 0 && (await this.#isPlacedIn(shard, delivery));
  }

  // A job has a lock while a worker runs it.
  async #runningIn(
    { keys, shard }: Shard,
    endpoint: EndpointId,
    ofEvents: readonly EventId[],
  ): Promise<readonly EventId[]> {
    const lines = shard.lines(endpoint);
    return await findRunning({ lines, base: keys.base, tag: shard.tag, endpoint, ofEvents })(this.redis);
  }

  async #putBackFailedIn(shard: Shard, delivery: DeliveryParts): Promise<void> {
    const jobId = deliveryIdOf(delivery);
    if ((await this.redis.zscore(shard.keys.failed, jobId)) === null) {
      const lane = await findLaneOf(this.redis, shard.shard, delivery);
      if (lane && (await this.redis.zscore(shard.keys.failed, laneJobIdOf(lane))) !== null) {
        await this.#bringHeadForward(shard, delivery);
      }
      return;
    }
    await this.#placeAnew(shard, delivery.endpointId, jobId);
    await shard.queue.retryFailed(jobId);
  }

  // BullMQ would give it its original position: behind all of today's jobs, or before them.
  async #placeAnew({ queue, keys, order, shard }: Shard, endpoint: EndpointId, jobId: string): Promise<void> {
    const stored = await this.redis.hget(keys.job(jobId), jobFields.data);
    const accountId = deliveryJobSchema.safeParse(parsedOrUndefined(stored ?? '')).data?.account_id;
    if (accountId === undefined) return;
    const weights = shard.accountWeights;
    const flow = { jobs: keys, orderState: order, weights, account: accountId, endpoint };
    await queue.changePriority(jobId, await nextPriority(flow)(this.redis));
  }

  // Most deliveries have no job, which one command tells. A job that is taken next is left alone: it ends by
  // itself.
  async #removeIfIdle(shard: Shard, delivery: DeliveryParts): Promise<boolean> {
    const jobId = deliveryIdOf(delivery);
    if (!(await this.#hasJobIn(shard, delivery))) return await this.#drop(shard, delivery);
    const { endpointId, eventId } = delivery;
    if ((await this.#runningIn(shard, endpointId, [eventId])).length > 0) return true;
    const { delayed, failed } = shard.keys;
    const scores = await Promise.all([delayed, failed].map((key) => this.redis.zscore(key, jobId)));
    if (scores.every((score) => score === null)) return false;
    // A worker may take it at this very moment: then it stays.
    return !(await shard.queue.remove(jobId));
  }

  // From its lane, or its batch.
  async #drop({ keys, shard }: Shard, delivery: DeliveryParts): Promise<boolean> {
    const name = await findLaneOf(this.redis, shard, delivery);
    const { base } = keys;
    const dropped = { jobs: keys, shard, base, tag: shard.tag, event: delivery.eventId };
    if (name !== undefined && (await dropFromLane({ ...dropped, name })(this.redis))) return true;
    return await dropFromBatch({ ...dropped, endpoint: delivery.endpointId })(this.redis);
  }
}

function openShard(redis: RedisClient, prefix: string): Shard {
  const keys = createJobKeys(prefix, DELIVERIES_QUEUE);
  const shard = queueKeysOf(prefix);
  return {
    queue: new OnDemandQueue(DELIVERIES_QUEUE, { redis, prefix }),
    keys,
    shard,
    order: shard.fairOrder(DELIVERIES_QUEUE),
  };
}

/** The id of its own job, or that of its batch's. */
function jobIdOf(delivery: DeliveryParts, batch: string | null | undefined): string {
  return batch ? batchJobIdOf(batch, delivery.endpointId) : deliveryIdOf(delivery);
}

/** What a lane tells of its deliveries. */
export function standingOfLane(keys: JobKeys, { lane }: ShardKeys, name: LaneName): Step<LaneStandingReply> {
  const jobId = laneJobIdOf(name);
  return laneStanding({ lane: lane(name), job: keys.job(jobId), lock: keys.lock(jobId) });
}

/** The lane in which a delivery is. `undefined`: it is in none. */
async function findLaneOf(
  redis: RedisClient,
  shard: ShardKeys,
  { endpointId, eventId }: DeliveryParts,
): Promise<LaneName | undefined> {
  const whole = laneNameOf(endpointId);
  const [place, line] = await Promise.all([
    redis.zscore(shard.lane(whole), eventId),
    redis.hget(shard.lines(endpointId), eventId),
  ]);
  if (line !== null) return laneNameOf(endpointId, line);
  return place === null ? undefined : whole;
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

function goesIntoLane({ isInLane, acceptedAt }: NewDelivery): boolean {
  return isInLane === true && acceptedAt !== undefined;
}

interface JoinedBesideLanes {
  join(endpointId: EndpointId, places: readonly NewPlace[]): Step;
}

type NewPlace = Pick<NewDelivery, 'eventId' | 'line' | 'isNew'> & { readonly acceptedAt: number };

function joinBeside(besideLanes: JoinedBesideLanes, deliveries: readonly DeliveryToAdd[]): readonly Step[] {
  const ordered = deliveries.filter(({ isInBatches }) => isInBatches !== true);
  return ordered.map(({ endpointId, acceptedAt = 0, ...place }) =>
    besideLanes.join(endpointId, [{ ...place, acceptedAt }]),
  );
}

function requestIn(stored: string | null): JobRequest {
  const request = stored === null ? undefined : requestSchema.safeParse(parsedOrUndefined(stored)).data;
  return request === undefined ? 'no_request' : { requestId: request.id };
}

interface EntryToAdd {
  readonly accountId: AccountId;
  readonly lane: LaneName;
  readonly eventId: EventId;
  readonly acceptedAt: number;
  readonly isNew?: boolean | undefined;
  readonly isInBatches?: boolean | undefined;
  /** As it is stored. */
  readonly request?: string | undefined;
}

function toEntry({ endpointId, line, acceptedAt = 0, data, ...delivery }: DeliveryToAdd): EntryToAdd {
  const { accountId, eventId, isNew, isInBatches } = delivery;
  const request = data.request && JSON.stringify(data.request);
  return { accountId, lane: laneNameOf(endpointId, line), eventId, acceptedAt, isNew, isInBatches, request };
}

interface LaneToAddTo {
  /** What had its turn, and went together with that, where all of the entries come from. */
  readonly head?: EventId | undefined;
  readonly members?: string | undefined;
  /** What was sent last there. */
  readonly sent?: LanePlace | undefined;
  /** Nothing is added to a lane that has no entries, or that a worker has. */
  readonly only?: 'if_there' | 'if_idle' | 'always';
}

/** Put deliveries into lanes. What has a job stays as it is. Gives whether it could. */
function addEntries(
  { keys, shard, order }: Shard,
  entries: readonly EntryToAdd[],
  { head, members, sent, only = 'always' }: LaneToAddTo = {},
): Step<boolean> {
  return addToLanes({
    jobs: keys,
    shard,
    orderState: order,
    base: keys.base,
    tag: shard.tag,
    accounts: entries.map(({ accountId }) => accountId),
    names: entries.map(({ lane }) => lane),
    events: entries.map(({ eventId }) => eventId),
    acceptedAt: entries.map(({ acceptedAt }) => acceptedAt),
    areNew: entries.map(({ isNew = false }) => isNew),
    requests: entries.map(({ request }) => request),
    areInBatches: entries.map(({ isInBatches = false }) => isInBatches),
    head,
    members,
    sent: sent && encodePlace(sent),
    only,
  });
}

/** Give deliveries their jobs. An existing job stays, in any state, and so does an entry in a lane. Gives how many had neither. */
function addJobs({ keys, order, shard }: Shard, deliveries: readonly DeliveryToAdd[]): Step<number> {
  return addDeliveries({
    jobs: keys,
    orderState: order,
    weights: shard.accountWeights,
    base: keys.base,
    tag: shard.tag,
    accounts: deliveries.map(({ accountId }) => accountId),
    endpoints: deliveries.map(({ endpointId }) => endpointId),
    ids: deliveries.map(deliveryIdOf),
    data: deliveries.map(({ data }) => JSON.stringify(data)),
    steps: deliveries.map(({ step }) => step),
    acceptedAt: deliveries.map(({ acceptedAt }) => acceptedAt),
  });
}

export const requestSchema = z.object({
  id: z.string(),
  trigger: z.enum(triggers).exclude(['schedule']),
  at: z.number(),
});

/**
 * A delivery's job: its id is the delivery's id, so it carries little more than the account. Never payload,
 * never secret.
 */
export const deliveryJobSchema = z.object({
  account_id: accountIdSchema,
  /** The request that it was added for, if a client requested the delivery once more. */
  request: requestSchema.optional(),
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
