import { Cluster } from 'ioredis';
import { encodeHold, encodeHoldTime, encodePlace, type LaneHold, type LanePlace } from '../domain/delivery';
import type { EndpointAddress, LaneName } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf, type ShardKeys } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard } from '../domain/queues';
import { type Clock, systemClock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard, Step } from '../platform/redis-lua';
import { forgetMoved, joinLane, leaveLane } from './bullmq-lane-moves.script';
import { createJobKeys, type JobKeys } from './bullmq-layout';
import {
  beginHead,
  dropEntries,
  endHead,
  holdLane,
  markSent,
  reopenLane,
  unmarkSent,
  waitInWindow,
} from './bullmq-running-lanes.script';

/** A lane whose job a worker has. */
export interface OwnedLane extends EndpointAddress {
  readonly lane: LaneName;
  /** What its job is locked with. */
  readonly token: string;
  /** Whether it was held when the job was taken. A line that was is open again since. */
  readonly wasHeld: boolean;
}

/** A delivery whose job a worker has, on its way into its endpoint's lane. */
export interface JoiningDelivery extends EndpointAddress {
  readonly lane: LaneName;
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
      // Not spread: each end of a head makes one.
      base: this.#jobs.base,
      account: lane.accountId,
      name: lane.lane,
      token: lane.token,
      wasHeld: lane.wasHeld,
      staysHeld: staysHeld && lane.wasHeld,
      event: head?.eventId,
      hasRequest: head?.hasRequest ?? false,
      needsNext: next === 'this_lane',
      now: this.clock(),
      mayStay: next !== 'nothing' && this.#runsAsOne,
    });
  }

  /** Its head has made an attempt: those behind it are not held any more, they wait for its next one. */
  reopen({ accountId, endpointId }: OwnedLane): Step<void> {
    return reopenLane({ base: this.#jobs.base, account: accountId, endpoint: endpointId });
  }

  /** Whether the turn of its first delivery begins, or of its newest: no other one has become that. */
  async begin(owned: OwnedLane, event: EventId, as: 'first' | 'newest'): Promise<boolean> {
    return await beginHead({ ...this.#of(owned), event, isNewest: as === 'newest' })(this.redis);
  }

  /** The request of its head is about to be sent in place of all before it. */
  async markSent(owned: OwnedLane, place: LanePlace): Promise<void> {
    await markSent({ ...this.#of(owned), sent: encodePlace(place) })(this.redis);
  }

  /** It was not sent. @param former what was sent last before */
  async unmarkSent(owned: OwnedLane, place: LanePlace, former: LanePlace | undefined): Promise<void> {
    const unsent = { sent: encodePlace(place), former: former && encodePlace(former) };
    await unmarkSent({ ...this.#of(owned), ...unsent })(this.redis);
  }

  /** A line waits for newer events. */
  async waitInWindow(owned: OwnedLane): Promise<void> {
    await waitInWindow(this.#of(owned))(this.redis);
  }

  /**
   * Note why it does not go on: all its deliveries count as held. A line is held as a delivery that has a job, until a wake-up lets it go.
   *
   * @param first of a line: its first delivery.
   * @returns `false`: as many are in it as it waits for, and it is not held.
   */
  async hold(
    owned: OwnedLane,
    { wakeUpAt, isBehindJob = false, fullAt, previousStartedAt = 0, ...hold }: LaneHold,
    first?: LanePlace,
  ): Promise<boolean> {
    const isLeftAlone = isBehindJob || fullAt !== undefined;
    return await holdLane({
      ...this.#of(owned),
      event: isLeftAlone ? undefined : first?.eventId,
      place: first?.acceptedAt ?? 0,
      wakeUpAt,
      fullAt,
      reason: hold.reason,
      hold: encodeHold(hold),
      previousStartedAt: encodeHoldTime(previousStartedAt),
    })(this.redis);
  }

  /**
   * Some in order, with their requests.
   *
   * @param from the position of the first one; negative: from behind.
   */
  async list(lane: LaneName, from: number, most: number): Promise<readonly LanePlace[]> {
    const flat = await this.redis.zrange(
      this.#shard.lane(lane),
      String(from),
      String(from + most - 1),
      'WITHSCORES',
    );
    const entries: LanePlace[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      entries.push({ eventId: flat[i] as EventId, acceptedAt: Number(flat[i + 1]) });
    }
    if (entries.length === 0) return entries;
    const events = entries.map(({ eventId }) => eventId);
    const requests = await this.redis.hmget(this.#shard.carried(lane), ...events);
    return entries.map((entry, i) => ({ ...entry, request: requests[i] ?? undefined }));
  }

  /** `undefined`: it is empty. */
  async findNewest(lane: LaneName): Promise<LanePlace | undefined> {
    return (await this.list(lane, -1, 1))[0];
  }

  /** The first of these that is not in the lane. */
  async findOutside(lane: LaneName, entries: readonly LanePlace[]): Promise<LanePlace | undefined> {
    const places = await this.redis.zmscore(
      this.#shard.lane(lane),
      entries.map(({ eventId }) => eventId),
    );
    return entries.find((_entry, i) => places[i] === null);
  }

  /** Forget some that have ended. The one that runs stays. */
  async drop(lane: LaneName, events: readonly EventId[]): Promise<void> {
    await dropEntries({ base: this.#jobs.base, name: lane, events })(this.redis);
  }

  /** Give some of its entries jobs of their own. The lane's job goes behind them, and ends with the last entry. */
  leave(lane: OwnedLane, entries: readonly LanePlace[]): Step<boolean> {
    const behind = entries.map(({ acceptedAt }) => encodeHold({ reason: 'ordering', since: acceptedAt }));
    return leaveLane({ ...this.#of(lane), events: entries.map(({ eventId }) => eventId), behind });
  }

  /**
   * The run of the head has failed for good: the head gets a job of its own, which fails when it is taken, and the lane goes on.
   *
   * @returns whether the lane was still this worker's.
   */
  failHead(lane: OwnedLane, event: EventId, failure: string): Step<boolean> {
    return leaveLane({ ...this.#of(lane), events: [event], behind: [], failure });
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
    const { eventId, jobId, acceptedAt, request, hasBegun, isInBatches = false } = delivery;
    return joinLane({
      ...this.#of(delivery),
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
    lane: name,
    token,
    wasHeld = false,
  }: Omit<OwnedLane, 'wasHeld'> & { readonly wasHeld?: boolean }) {
    return { base: this.#jobs.base, account, name, token, wasHeld };
  }
}
