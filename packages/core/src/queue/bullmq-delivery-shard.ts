import { Cluster } from 'ioredis';
import type { AccountId } from '../domain/account';
import {
  type DeliveryParts,
  type DeliveryRequested,
  deliveryIdOf,
  encodePlace,
  type LanePlace,
  laneJobIdOf,
  type NewDelivery,
} from '../domain/delivery';
import { type EndpointId, type LaneName, laneNameOf } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf, type ShardKeys } from '../domain/keys';
import { DELIVERIES_QUEUE } from '../domain/queues';
import { parsedOrUndefined } from '../platform/json';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import {
  addDeliveries,
  checkUnplaced,
  type EndDelaysReply,
  endDelays,
  findDelayed,
  findHeads,
  findIdle,
  findRequest,
  findRunning,
  findTogether,
  putBackFailed,
  removeIdle,
} from './bullmq-delivery-shard.script';
import { addToLanes, findOver } from './bullmq-lanes.script';
import { createJobKeys, type JobKeys } from './bullmq-layout';
import { type DeliveryJob, deliveryJobSchema, encodeRequest, requestSchema } from './delivery-job';

export interface DeliveryToAdd extends NewDelivery {
  /** The request that it is to be sent for. Absent: it is sent by its schedule. */
  readonly request?: DeliveryRequested | undefined;
}

export interface EntryToAdd {
  readonly accountId: AccountId;
  readonly lane: LaneName;
  readonly eventId: EventId;
  readonly acceptedAt: number;
  readonly isNew?: boolean | undefined;
  readonly isInBatches?: boolean | undefined;
  /** As it is stored. */
  readonly request?: string | undefined;
}

/** How a lane is left that gets entries of another shard. */
export interface LaneToAddTo {
  /** What had its turn, and went together with that, where all of the entries come from. */
  readonly head?: EventId | undefined;
  readonly members?: string | undefined;
  /** What was sent last there. */
  readonly sent?: LanePlace | undefined;
  /** Nothing is added to a lane that has no entries, or that a worker has. */
  readonly only?: 'if_there' | 'if_idle' | 'always';
}

/** Some entries of a lane, and whether there are more. */
export interface FoundOver {
  readonly entries: readonly LanePlace[];
  readonly areMore: boolean;
}

/** The request that a delivery's job was added for: `no_request` without one, `no_job` without a job. */
export type JobRequest = 'no_job' | 'no_request' | { readonly requestId: string };

const ONE_STEP = 1;
// A repeated delivery can wait longer than a new one: it takes more of its account's turn.
const STEP_OF_REPLAYS = 4;

/** The queue of deliveries in one shard. A delivery has a job of its own there, or is in a lane, or in a batch. */
export class DeliveryShard {
  readonly #jobs: JobKeys;
  readonly #keys: ShardKeys;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
  ) {
    this.#jobs = createJobKeys(prefix, DELIVERIES_QUEUE);
    this.#keys = queueKeysOf(prefix);
  }

  /** Give deliveries their jobs. An existing job stays, in any state, and so does an entry in a lane. Gives how many had neither. */
  addJobs(deliveries: readonly DeliveryToAdd[]): Step<number> {
    return addDeliveries({
      base: this.#jobs.base,
      accounts: deliveries.map(({ accountId }) => accountId),
      endpoints: deliveries.map(({ endpointId }) => endpointId),
      ids: deliveries.map(deliveryIdOf),
      data: deliveries.map((delivery) => JSON.stringify(dataOf(delivery))),
      steps: deliveries.map(({ request }) => (request?.trigger === 'replay' ? STEP_OF_REPLAYS : ONE_STEP)),
      acceptedAt: deliveries.map(({ acceptedAt }) => acceptedAt),
    });
  }

  /** Put deliveries into lanes. What has a job stays as it is. Gives whether it could. */
  addEntries(
    entries: readonly EntryToAdd[],
    { head, members, sent, only = 'always' }: LaneToAddTo = {},
  ): Step<boolean> {
    return addToLanes({
      base: this.#jobs.base,
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
      seesBeside: !(this.redis instanceof Cluster),
    });
  }

  /** The keys of its job, of what has its event if it is held or in a lane, and of what has it if it is in a batch. */
  keysOf(delivery: DeliveryParts) {
    const { endpointId } = delivery;
    const { held, lane, grouped, batches } = this.#keys;
    return {
      job: this.#jobs.job(deliveryIdOf(delivery)),
      holds: [held(endpointId), lane(laneNameOf(endpointId)), grouped(endpointId)],
      batches: batches(endpointId),
    };
  }

  /** Whether nothing here will send a delivery: it has no job in any state, failed ones included, is not held, and in no lane and no batch. */
  guardUnplaced({ endpointId, eventId }: DeliveryParts): Guard {
    return checkUnplaced({ base: this.#jobs.base, endpoint: endpointId, event: eventId });
  }

  async requestOf({ endpointId, eventId }: DeliveryParts): Promise<JobRequest> {
    const asked = { base: this.#jobs.base, endpoint: endpointId, event: eventId };
    const { isPlaced, data, request } = await findRequest(asked)(this.redis);
    if (!isPlaced) return 'no_job';
    const stored =
      data === undefined
        ? requestSchema.safeParse(parsedOrUndefined(request ?? '')).data
        : deliveryJobSchema.safeParse(parsedOrUndefined(data)).data?.request;
    return stored === undefined ? 'no_request' : { requestId: stored.id };
  }

  /** Those of some deliveries of an endpoint that a worker runs now: a job has a lock while a worker runs it. */
  async findRunning(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    return await findRunning(this.#ofEndpoint(endpointId, eventIds))(this.redis);
  }

  /** The heads with which some deliveries of an endpoint go together, if they are no heads themselves. */
  async findHeads(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    return await findHeads(this.#ofEndpoint(endpointId, eventIds))(this.redis);
  }

  /** The others with which some deliveries of an endpoint go in one request. */
  async findTogether(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    return await findTogether(this.#ofEndpoint(endpointId, eventIds))(this.redis);
  }

  /** Those of some deliveries of an endpoint whose own jobs, or whose batches, are delayed. */
  async findDelayed(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    return await findDelayed(this.#ofEndpoint(endpointId, eventIds))(this.redis);
  }

  /** The place of the first entry of a lane. `undefined`: it has none. */
  async firstIn(lane: LaneName): Promise<LanePlace | undefined> {
    const [eventId, place] = await this.redis.zrange(this.#keys.lane(lane), '0', '0', 'WITHSCORES');
    return eventId === undefined ? undefined : { eventId: eventId as EventId, acceptedAt: Number(place) };
  }

  /** The entry of a lane whose turn has begun. */
  async headOf(lane: LaneName): Promise<EventId | undefined> {
    const head = await this.redis.hget(this.#jobs.job(laneJobIdOf(lane)), 'head');
    return (head as EventId | null) ?? undefined;
  }

  /**
   * Some entries of a lane that were accepted until a time, and not requested after it. Each call gives others; an hour after the first
   * one they come again.
   *
   * @param until milliseconds since the Unix epoch.
   */
  async findOver(lane: LaneName, until: number): Promise<FoundOver> {
    const { events, places, requests, areMore } = await findOver({
      base: this.#jobs.base,
      name: lane,
      latest: until,
    })(this.redis);
    const entries = events.map((eventId, i) => {
      // A script gives null for none.
      return { eventId, acceptedAt: places[i] ?? 0, request: requests[i] ?? undefined };
    });
    return { entries, areMore };
  }

  /** Those of some deliveries of an endpoint that are here, and that no worker has. Then nothing can take them away from here. */
  async findIdle(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    return await findIdle(this.#ofEndpoint(endpointId, eventIds))(this.redis);
  }

  /** End the delays of the jobs of some deliveries of an endpoint, of their batches, or of their lanes: see `DeliveryQueue`. */
  async promote(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<EndDelaysReply> {
    return await endDelays(this.#ofEndpoint(endpointId, eventIds))(this.redis);
  }

  /** Put its job back, if that has failed for good, or that of its lane. Otherwise nothing happens. */
  async putBackFailed({ endpointId, eventId }: DeliveryParts): Promise<void> {
    await putBackFailed({ base: this.#jobs.base, endpoint: endpointId, event: eventId })(this.redis);
  }

  /**
   * Remove its job if that is delayed or has failed for good, or its entry in a lane or a batch. Gives whether a worker runs it. A job
   * that is taken next is left alone: it ends by itself.
   */
  async removeIfIdle({ endpointId, eventId }: DeliveryParts): Promise<boolean> {
    return await removeIdle({ base: this.#jobs.base, endpoint: endpointId, event: eventId })(this.redis);
  }

  /** For scripts that look for deliveries of an endpoint. */
  #ofEndpoint(endpoint: EndpointId, ofEvents: readonly EventId[]) {
    return { base: this.#jobs.base, endpoint, ofEvents };
  }
}

function dataOf({ accountId, request }: DeliveryToAdd): DeliveryJob {
  return { account_id: accountId, ...(request && { request: encodeRequest(request) }) };
}
