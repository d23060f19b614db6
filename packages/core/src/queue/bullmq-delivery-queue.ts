import type { DeliveryParts, DeliveryRequested, NewDelivery } from '../domain/delivery';
import { type EndpointId, type LaneName, laneNameOf } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { QueueShards } from '../domain/queues';
import { mapReply, together } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import {
  DeliveryShard,
  type DeliveryToAdd,
  type EntryToAdd,
  type FoundOver,
  type JobRequest,
} from './bullmq-delivery-shard';
import { encodeRequest } from './delivery-job';
import { byShard, PerShard } from './per-shard';

export interface RequestedDelivery extends NewDelivery {
  readonly request: DeliveryRequested;
}

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

/**
 * The queue of deliveries. Each delivery has one job until it ends, with the delivery's id, or is an entry of its endpoint's
 * lane, or is in a batch: adding it again changes nothing. An endpoint's jobs go to its home shard. Lookups search all shards that may hold the job
 * while the queues are being split again: `DeliveryPlacement` moves them home.
 */
export class DeliveryQueue {
  readonly #shards: PerShard<DeliveryShard>;

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
    /** With `RECORD_FORM=former`: what would go into lanes gets jobs, and places beside them. */
    private readonly besideLanes?: JoinedBesideLanes,
  ) {
    this.#shards = new PerShard((prefix) => new DeliveryShard(redis, prefix));
  }

  /** When it throws, the jobs may still be on the queue. */
  async addAll(deliveries: readonly NewDelivery[]): Promise<void> {
    await this.stepToAdd(deliveries)(this.redis);
  }

  /**
   * Add each with its request. A delivery that has a job already is ignored: see `requestOf`.
   *
   * While queues are split again it becomes an entry of its lane in other shards too, if they have that. So what is sent there counts for
   * it as if it had been there alone, also if that ends before it is moved.
   */
  async addRequested(deliveries: readonly RequestedDelivery[]): Promise<void> {
    await this.#stepToAdd(deliveries)(this.redis);
    if (this.besideLanes) return;
    const elsewhere = deliveries.filter(goesInOrder).flatMap((delivery) => {
      const home = this.shards.homeShardOf(delivery.endpointId);
      const others = this.shards
        .homeShardsOf(delivery.endpointId)
        .filter(({ prefix }) => prefix !== home.prefix);
      return others.map((shard) => ({ shard, entry: toEntry(delivery) }));
    });
    const joined = byShard(elsewhere, ({ shard }) => shard).map(async ([shard, some]) => {
      const entries = some.map(({ entry }) => entry);
      await this.#shards.in(shard).addEntries(entries, { only: 'if_there' })(this.redis);
    });
    await Promise.all(joined);
  }

  /** As `addAll`, together with other steps. */
  stepToAdd(deliveries: readonly NewDelivery[]): Step<void> {
    return this.#stepToAdd(deliveries);
  }

  #stepToAdd(deliveries: readonly DeliveryToAdd[]): Step<void> {
    const groups = byShard(deliveries, ({ endpointId }) => this.shards.homeShardOf(endpointId));
    const steps = groups.flatMap<Step>(([prefix, some]) => {
      const shard = this.#shards.in(prefix);
      const inLanes = some.filter(goesIntoLane);
      if (inLanes.length === 0) return [shard.addJobs(some)];
      if (this.besideLanes) return [...joinBeside(this.besideLanes, inLanes), shard.addJobs(some)];
      const entries = shard.addEntries(inLanes.map(toEntry));
      const others = some.filter((delivery) => !goesIntoLane(delivery));
      return others.length === 0 ? [entries] : [entries, shard.addJobs(others)];
    });
    return mapReply(together(steps), () => {});
  }

  async requestOf(delivery: DeliveryParts): Promise<JobRequest> {
    const requests = await this.#inEach(delivery, (shard) => shard.requestOf(delivery));
    return requests.find((request) => request !== 'no_job') ?? 'no_job';
  }

  /** The keys of its job, and of what has its event if it is held, in a lane or in a batch: of each shard that may have it. */
  keysOf(delivery: DeliveryParts): DeliveryKeys {
    const ofShards = this.#shardsOf(delivery).map((shard) => shard.keysOf(delivery));
    return {
      jobs: ofShards.map(({ job }) => job),
      holds: ofShards.flatMap(({ holds }) => holds),
      batches: ofShards.map(({ batches }) => batches),
    };
  }

  /** Whether nothing will send a delivery: it has no job in any state, failed ones included, is not held, and in no lane and no batch. */
  guardUnplaced(delivery: DeliveryParts): Guard {
    const checks = this.#shardsOf(delivery).map((shard) => shard.guardUnplaced(delivery));
    const [check] = checks;
    return check && checks.length === 1 ? check : together(checks);
  }

  /** Those of some deliveries of an endpoint that a worker runs now. */
  async findRunning(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>> {
    if (eventIds.length === 0) return new Set();
    const running = await this.#inEach({ endpointId }, (shard) => shard.findRunning(endpointId, eventIds));
    return new Set(running.flat());
  }

  /** The events of the endpoint whose own jobs, or whose batches, are delayed, among these. They stay in order. */
  async findDelayed(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    if (eventIds.length === 0) return [];
    const delayed = await this.#inEach({ endpointId }, (shard) => shard.findDelayed(endpointId, eventIds));
    return eventIds.filter((eventId) => delayed.some((inShard) => inShard.includes(eventId)));
  }

  /**
   * The heads of lanes with which some deliveries of an endpoint go together, if they are no heads themselves: they go when the head
   * does.
   */
  async findHeads(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>> {
    if (eventIds.length === 0) return new Set();
    const heads = await this.#inEach({ endpointId }, (shard) => shard.findHeads(endpointId, eventIds));
    return new Set(heads.flat());
  }

  /** The others with which some deliveries of an endpoint go in one request. */
  async findTogether(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    const others = await this.#inEach({ endpointId }, (shard) => shard.findTogether(endpointId, eventIds));
    return [...new Set(others.flat())];
  }

  /**
   * End the delays of the jobs of some deliveries of an endpoint, of their batches, or of their lanes if they are the heads there, or
   * come next. The others stay as they are.
   */
  async promote(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<Promoted> {
    if (eventIds.length === 0) return { running: new Set(), haveFailed: new Set() };
    const promoted = await this.#inEach({ endpointId }, (shard) => shard.promote(endpointId, eventIds));
    return {
      running: new Set(promoted.flatMap(({ running }) => running)),
      haveFailed: new Set(promoted.flatMap(({ haveFailed }) => haveFailed)),
    };
  }

  /** Put its job back, if that has failed for good, or that of its lane. Otherwise nothing happens. */
  async putBackFailed(delivery: DeliveryParts): Promise<void> {
    await this.#inEach(delivery, (shard) => shard.putBackFailed(delivery));
  }

  /**
   * Remove the jobs that are delayed or have failed for good, and entries of lanes. Gives the deliveries that are being attempted.
   */
  async removeIdle(deliveries: readonly DeliveryParts[]): Promise<readonly DeliveryParts[]> {
    const isBusy = await Promise.all(
      deliveries.map(async (delivery) => {
        return (await this.#inEach(delivery, (shard) => shard.removeIfIdle(delivery))).includes(true);
      }),
    );
    return deliveries.filter((_delivery, i) => isBusy[i]);
  }

  /** Some entries of a lane that was at home when it was taken: see `DeliveryShard`. */
  async findOver(endpointId: EndpointId, lane: LaneName, until: number): Promise<FoundOver> {
    return await this.#shards.in(this.shards.homeShardOf(endpointId)).findOver(lane, until);
  }

  async #inEach<Found>(
    delivery: Pick<DeliveryParts, 'endpointId'>,
    find: (shard: DeliveryShard) => Promise<Found>,
  ): Promise<readonly Found[]> {
    return await Promise.all(this.#shardsOf(delivery).map(find));
  }

  #shardsOf({ endpointId }: Pick<DeliveryParts, 'endpointId'>): readonly DeliveryShard[] {
    return this.#shards.inEach(this.shards.homeShardsOf(endpointId));
  }
}

function goesIntoLane({ isInLane, acceptedAt }: NewDelivery): boolean {
  return isInLane === true && acceptedAt !== undefined;
}

/** In a lane, behind others. */
function goesInOrder(delivery: NewDelivery): boolean {
  return goesIntoLane(delivery) && delivery.isInBatches !== true;
}

function toEntry({ endpointId, line, acceptedAt = 0, request, ...delivery }: DeliveryToAdd): EntryToAdd {
  const { accountId, eventId, isNew, isInBatches } = delivery;
  const stored = request && JSON.stringify(encodeRequest(request));
  const lane = laneNameOf(endpointId, line);
  return { accountId, lane, eventId, acceptedAt, isNew, isInBatches, request: stored };
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
