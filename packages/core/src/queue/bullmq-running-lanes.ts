import { Cluster } from 'ioredis';
import type { AccountId } from '../domain/account';
import { encodeHold, encodeHoldTime, type LaneEntry, laneJobIdOf, type PastHold } from '../domain/delivery';
import type { EndpointAddress, EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf, type ShardKeys } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard } from '../domain/queues';
import { type Clock, systemClock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard, Step } from '../platform/redis-lua';
import { forgetMoved, joinLane, leaveLane } from './bullmq-lane-moves.script';
import { createJobKeys, type JobKeys } from './bullmq-layout';
import { beginHead, endHead, holdLane, reopenLane } from './bullmq-running-lanes.script';

/** One that goes elsewhere. */
export interface MovingEntry extends LaneEntry {
  /** The request for which it is to be sent, as it is stored. */
  readonly request: string | undefined;
}

/** A lane whose job a worker has. */
export interface OwnedLane extends EndpointAddress {
  /** What its job is locked with. */
  readonly token: string;
  /** Whether it was held when the job was taken. */
  readonly wasHeld: boolean;
}

/** A delivery whose job a worker has, on its way into its endpoint's lane. */
export interface JoiningDelivery extends EndpointAddress {
  readonly eventId: EventId;
  readonly acceptedAt: number;
  /** As it is stored. */
  readonly request: string | undefined;
  /** Whether it was tried before: then it keeps its turn. */
  readonly hasBegun: boolean;
  /** Whether that lane's deliveries need not wait for each other. */
  readonly isInBatches?: boolean;
  readonly jobId: string;
  readonly token: string;
}

/** The lanes of a shard as their workers change them: each step does nothing if the job is not the worker's any more. */
export class RunningLanes {
  readonly #jobs: JobKeys;
  readonly #shard: ShardKeys;
  /** Whether steps of one unit are one script. */
  readonly #runsAsOne: boolean;

  constructor(
    private readonly redis: RedisClient,
    { prefix }: QueueShard,
    private readonly clock: Clock = systemClock,
  ) {
    this.#runsAsOne = !(redis instanceof Cluster);
    this.#jobs = createJobKeys(prefix, DELIVERIES_QUEUE);
    this.#shard = queueKeysOf(prefix);
  }

  /**
   * The head of a lane has ended, and the next one has its turn. What comes after it runs only if the lane was still this
   * worker's.
   *
   * @param head absent: the lane was empty.
   * @param next what comes after it: nothing, a step that takes a job, or one that is of use only if the lane goes on.
   * @param staysHeld whether what is left is still held, if it was: nothing was sent, and none need wait for another one.
   */
  end(
    lane: OwnedLane,
    head: { readonly eventId: EventId; readonly hasRequest: boolean } | undefined,
    next: 'nothing' | 'a_job' | 'this_lane',
    staysHeld = false,
  ): Guard<boolean> {
    return endHead({
      ...this.#of(lane),
      staysHeld: staysHeld && lane.wasHeld,
      event: head?.eventId,
      hasRequest: head?.hasRequest ?? false,
      needsNext: next === 'this_lane',
      now: this.clock(),
      mayStay: next !== 'nothing' && this.#runsAsOne,
    });
  }

  /** Its head has made an attempt: those behind it are not held any more, they wait for its next one. */
  reopen(lane: OwnedLane): Step<void> {
    const { accountId: account, endpointId } = lane;
    return reopenLane({
      shard: this.#shard,
      job: this.#jobs.job(laneJobIdOf(endpointId)),
      lane: this.#shard.lane(endpointId),
      tag: this.#shard.tag,
      account,
      endpoint: endpointId,
    });
  }

  /** Whether the turn of its first delivery begins: no other one has become the first. */
  async begin({ endpointId, token }: OwnedLane, event: EventId): Promise<boolean> {
    return await beginHead({
      lock: this.#jobs.lock(laneJobIdOf(endpointId)),
      behindHeads: this.#shard.behindHeads,
      base: this.#jobs.base,
      tag: this.#shard.tag,
      token,
      endpoint: endpointId,
      event,
    })(this.redis);
  }

  /**
   * Count all its deliveries as held, and note why.
   *
   * @param fullAt it goes on as soon as so many are in it.
   * @returns `false`: they are, and it is not held.
   */
  async hold(
    { accountId, endpointId, token }: OwnedLane,
    hold: PastHold,
    previousStartedAt = 0,
    fullAt?: number,
  ): Promise<boolean> {
    return await holdLane({
      shard: this.#shard,
      lock: this.#jobs.lock(laneJobIdOf(endpointId)),
      base: this.#jobs.base,
      tag: this.#shard.tag,
      token,
      account: accountId,
      endpoint: endpointId,
      reason: hold.reason,
      hold: encodeHold(hold),
      previousStartedAt: encodeHoldTime(previousStartedAt),
      fullAt,
    })(this.redis);
  }

  /** The first ones, in order. */
  async listFirst(endpointId: EndpointId, most: number): Promise<readonly LaneEntry[]> {
    const flat = await this.redis.zrange(this.#shard.lane(endpointId), '0', String(most - 1), 'WITHSCORES');
    const entries: LaneEntry[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      entries.push({ eventId: flat[i] as EventId, acceptedAt: Number(flat[i + 1]) });
    }
    return entries;
  }

  /** Give some of its entries jobs of their own. The lane's job goes behind them, and ends with the last entry. */
  leave(lane: OwnedLane, entries: readonly LaneEntry[]): Step<boolean> {
    const behind = entries.map(({ acceptedAt }) => encodeHold({ reason: 'ordering', since: acceptedAt }));
    return leaveLane({ ...this.#of(lane), events: entries.map(({ eventId }) => eventId), behind });
  }

  /**
   * The head has failed for good: it gets a job of its own, which fails when it is taken, and the lane goes on.
   *
   * @returns whether the lane was still this worker's.
   */
  failHead(lane: OwnedLane, event: EventId, failure: string): Step<boolean> {
    return leaveLane({ ...this.#of(lane), events: [event], behind: [], failure });
  }

  /** The first ones, with what has to go with them to another shard. */
  async listMoving(endpointId: EndpointId, most: number): Promise<readonly MovingEntry[]> {
    const first = await this.listFirst(endpointId, most);
    if (first.length === 0) return [];
    const events = first.map(({ eventId }) => eventId);
    const requests = await this.redis.hmget(this.#shard.carried(endpointId), ...events);
    return first.map((entry, i) => ({ ...entry, request: requests[i] ?? undefined }));
  }

  /** After entries were added in another shard: they are none of this lane any more. */
  forget(lane: OwnedLane, events: readonly EventId[]): Step<void> {
    return forgetMoved({ ...this.#of(lane), events });
  }

  /**
   * Make a delivery an entry, in place of its job.
   *
   * @param onlyIfThere whether it keeps its job if its endpoint has no lane.
   * @returns whether it has no job any more, or not this worker's.
   */
  join(delivery: JoiningDelivery, onlyIfThere: boolean): Step<boolean> {
    const { endpointId, eventId, jobId, acceptedAt, request, hasBegun, isInBatches = false } = delivery;
    return joinLane({
      ...this.#of(delivery),
      held: this.#shard.held(endpointId),
      job: jobId,
      event: eventId,
      acceptedAt,
      request,
      hasBegun,
      onlyIfThere,
      isInBatches,
    });
  }

  #of({
    accountId: account,
    endpointId: endpoint,
    token,
    wasHeld = false,
  }: EndpointAddress & {
    readonly accountId: AccountId;
    readonly token: string;
    readonly wasHeld?: boolean;
  }) {
    return {
      jobs: this.#jobs,
      shard: this.#shard,
      orderState: this.#shard.fairOrder(DELIVERIES_QUEUE),
      base: this.#jobs.base,
      tag: this.#shard.tag,
      account,
      endpoint,
      token,
      wasHeld,
    };
  }
}
