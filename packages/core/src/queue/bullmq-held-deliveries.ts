import type { AccountId } from '../domain/account';
import { deliveryIdOf, encodeHold, encodeHoldTime, type HoldReason, laneJobIdOf } from '../domain/delivery';
import {
  decodeAddress,
  type EndpointAddress,
  type EndpointId,
  encodeAddress,
  laneNameOf,
} from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { QueueShard, QueueShards } from '../domain/queues';
import { type Clock, systemClock } from '../platform/clock';
import { type Atomic, createAtomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import {
  findInAny,
  type Mark,
  readTimeline,
  type TimeRange,
  timelinePages,
} from '../platform/redis-timeline';
import { findLanesAmong, type HeldShard, heldListsOf, openHeldShard } from './bullmq-delivery-holds';
import {
  askForWakeUp,
  claimDueWakeUps,
  countAllHeld,
  enterHeld,
  forgetHeld,
  releaseHeld,
} from './bullmq-held-deliveries.script';
import { findLanes } from './bullmq-lanes.script';
import { byShard, PerShard } from './per-shard';

/** A held delivery, with its position among those of its endpoint. */
export interface HeldDelivery {
  readonly eventId: EventId;
  /** When its event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
}

export interface EnteringDelivery extends HeldDelivery {
  /** The batch that it is in. Absent: it has a job of its own. */
  readonly together?: { readonly jobId: string; readonly deliveries: readonly HeldDelivery[] } | undefined;
  /** When its former attempt began. Absent: there was none. Milliseconds since the Unix epoch. */
  readonly previousStartedAt?: number | undefined;
}

export interface ReleaseRequest {
  /** The most deliveries to release, those whose events were accepted first. */
  readonly most: number;
  /** Of these alone. */
  readonly only?: readonly EventId[] | undefined;
  /** Beside those alone, any lines that are held. */
  readonly linesToo?: boolean | undefined;
  /** The result of `wakeUpDueAt` at the start of the wake-up. */
  readonly wakeUpWasDueAt: number | undefined;
  /** When the next wake-up is due, if some stay. Milliseconds since the Unix epoch. */
  readonly wakeUpAgainAt: number;
  readonly now: number;
  /** Whether lines go on whatever they wait for, as if that had been asked for. */
  readonly wakesLines?: boolean | undefined;
}

export interface Released {
  readonly released: number;
  /** Those that were asked for and have no job at all. */
  readonly missing: readonly EventId[];
  /** How many are still held. */
  readonly left: number;
  /** Whether lines that were to go on have not yet. */
  readonly hasMoreLines: boolean;
}

const ONE_PAGE = 1_000;
// A wake-up takes milliseconds. If the process that claimed it dies, another one does it after this time.
const CLAIM_MS = 5_000;
// A job may take this long from a worker to the delayed jobs.
const SOON_MS = 100;

/**
 * Deliveries that are held: each is a delayed job, and has an entry here with the hash tag of the job's
 * shard, so that both change in one step. The job comes back by itself when its delay is over, whatever
 * happens to the entry. The entry finds it before that.
 *
 * Deliveries that are still elsewhere while the queues are being split again are counted and listed. Moving
 * them to their home shard releases them.
 */
export class HeldDeliveries {
  readonly #shards = new PerShard(openHeldShard);

  /** @param served the shards whose wake-ups this process handles. */
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
    private readonly served: () => readonly QueueShard[] = () => shards.all(),
    private readonly atomic: Atomic = createAtomic(redis),
    private readonly clock: Clock = systemClock,
  ) {}

  /**
   * Enter a delivery whose job is about to be delayed, and ask for a wake-up of its endpoint. Idempotent.
   *
   * @param othersForMs if given, some of the endpoint's other deliveries, those next in order, are held together
   *   with it without being taken first. Their jobs come back by themselves after this many milliseconds, or
   *   some time later.
   * @returns the events of these other deliveries.
   */
  async enter(
    address: EndpointAddress,
    { together, previousStartedAt = 0, ...own }: EnteringDelivery,
    wakeUpAt: number,
    reason: HoldReason,
    othersForMs?: number,
  ): Promise<readonly EventId[]> {
    const { jobs } = this.#homeShard(address);
    const suffix = suffixOf(address.endpointId);
    const { jobId, deliveries } = together ?? { jobId: own.eventId + suffix, deliveries: [own] };
    const now = this.clock();
    const others = await enterHeld({
      base: jobs.base,
      job: jobId,
      events: deliveries.map(({ eventId }) => eventId),
      acceptedAt: deliveries.map(({ acceptedAt }) => acceptedAt),
      address: encodeAddress(address),
      wakeUpAt,
      reason,
      hold: encodeHold({ reason, since: now }),
      previousStartedAt: encodeHoldTime(previousStartedAt),
      now,
      othersForMs,
    })(this.redis);
    return others.map((other) => other.slice(0, -suffix.length) as EventId);
  }

  /**
   * Put jobs back onto the queue. Each entry is removed with that, or when its job turns out not to be
   * delayed any more.
   */
  async release(address: EndpointAddress, request: ReleaseRequest): Promise<Released> {
    const { most, only = [], wakeUpWasDueAt, wakeUpAgainAt, now, linesToo, wakesLines } = request;
    return await releaseHeld({
      base: this.#homeShard(address).jobs.base,
      address: encodeAddress(address),
      most,
      wasDueAt: wakeUpWasDueAt,
      againAt: wakeUpAgainAt,
      soonAt: now + SOON_MS,
      only,
      linesToo: linesToo ?? false,
      wakesLines: wakesLines ?? false,
    })(this.redis);
  }

  /** Forget a delivery that has ended while it was held. The job that has found that out ends by itself. */
  async forget(address: EndpointAddress, eventId: EventId): Promise<void> {
    const { base } = this.#homeShard(address).jobs;
    await forgetHeld({ base, event: eventId, address: encodeAddress(address) })(this.redis);
  }

  /**
   * Ask for a wake-up of an endpoint, unless an earlier one is due.
   *
   * @param wakesLines whether all lines of the endpoint go on that are not held: what they wait for may be another thing now. Wake-ups put
   *   them back, some hundreds at a time. Default: `false`.
   */
  async askForWakeUp(address: EndpointAddress, at: number, wakesLines = false): Promise<void> {
    const { base } = this.#homeShard(address).jobs;
    await askForWakeUp({ base, address: encodeAddress(address), at, wakesLines })(this.redis);
  }

  async wakeUpDueAt(address: EndpointAddress): Promise<number | undefined> {
    const due = await this.redis.zscore(this.#homeShard(address).keys.wakeUps, encodeAddress(address));
    return due === null ? undefined : Number(due);
  }

  /**
   * Claim some endpoints whose wake-up is due, for one caller. They are due again soon, in case the caller
   * fails.
   */
  async claimDueWakeUps(now: number, most: number): Promise<readonly EndpointAddress[]> {
    const claims = this.#shards.inEach(this.served()).map(async ({ jobs: { base } }) => {
      const [due] = await this.atomic([claimDueWakeUps({ base, now, most, againAt: now + CLAIM_MS })]);
      return due;
    });
    return (await Promise.all(claims)).flat().map(decodeAddress);
  }

  /** All held deliveries of an endpoint, page by page, ordered by the acceptance of their events. */
  async *pagesOf(endpointId: EndpointId): AsyncGenerator<readonly HeldDelivery[], void> {
    const order = 'oldest_first';
    for (const key of this.#listsOf(endpointId)) {
      const pages = timelinePages(ONE_PAGE, (limit, after) =>
        readTimeline(this.redis, key, { order, limit, after }),
      );
      for await (const page of pages) {
        yield page.map(({ id, at }) => ({ eventId: id as EventId, acceptedAt: at }));
      }
    }
  }

  /** As `findHeld` finds them; a lane that is held is so until it goes on. */
  async count(endpointId: EndpointId): Promise<number> {
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    const counts = await Promise.all(
      shards.map(({ jobs: { base } }) => countAllHeld({ base, endpoint: endpointId })(this.redis)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async isHeld(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
    return (await this.findHeld(endpointId, [eventId])).has(eventId);
  }

  /**
   * The held ones among these: in a lane, all of them if it does not go on, else those that wait for the first one if they
   * have to.
   */
  async findHeld(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<ReadonlySet<EventId>> {
    const areHeld = await findInAny(this.redis, this.#listsOf(endpointId), eventIds);
    const held = new Set(eventIds.filter((_, i) => areHeld[i]));
    if (held.size === 0) return held;
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    for (const lane of await findLanesAmong(this.redis, shards, endpointId, [...held])) {
      const areFree = lane.isInWindow || (lane.isInBatches && !lane.isHeld);
      if (areFree) for (const { eventId } of lane.entries) held.delete(eventId);
      else if (!lane.isHeld) held.delete(lane.first);
    }
    return held;
  }

  /** The account's endpoints that hold deliveries, by their counts. */
  async findHolding(
    accountId: AccountId,
    endpointIds: readonly EndpointId[],
  ): Promise<readonly EndpointId[]> {
    const asked = endpointIds.flatMap((id) => this.shards.homeShardsOf(id).map((shard) => ({ id, shard })));
    const found = byShard(asked, ({ shard }) => shard).map(async ([shard, some]) => {
      const addresses = some.map(({ id }) => encodeAddress({ accountId, endpointId: id }));
      const { jobs, keys } = this.#shards.in(shard);
      const keysOfLanes = (id: EndpointId) => [jobs.job(laneJobIdOf(laneNameOf(id))), keys.grouped(id)];
      const [counted, lanes] = await Promise.all([
        this.redis.hmget(keys.countedAsHeld, ...addresses),
        findLanes({ jobs: some.flatMap(({ id }) => keysOfLanes(id)) })(this.redis),
      ]);
      const present = new Set(lanes);
      const hasLane = (id: EndpointId) => keysOfLanes(id).some((key) => present.has(key));
      return some.flatMap(({ id }, i) => (counted[i] === null && !hasLane(id) ? [] : [id]));
    });
    return [...new Set((await Promise.all(found)).flat())];
  }

  /** An endpoint's held deliveries by the acceptance of their events, the newest first. */
  async listNewest(
    endpointId: EndpointId,
    range: TimeRange,
    limit: number,
    after: Mark | undefined,
  ): Promise<readonly Mark[]> {
    const order = 'newest_first';
    const lists = this.#listsOf(endpointId);
    const parts = lists.map((key) => readTimeline(this.redis, key, { order, range, limit, after }));
    const marks = (await Promise.all(parts)).flat();
    return firstOf(marks, limit);
  }

  #homeShard({ endpointId }: Pick<EndpointAddress, 'endpointId'>): HeldShard {
    return this.#shards.in(this.shards.homeShardOf(endpointId));
  }

  #listsOf(endpointId: EndpointId): readonly string[] {
    return this.#shards
      .inEach(this.shards.homeShardsOf(endpointId))
      .flatMap((shard) => heldListsOf(shard, endpointId));
  }
}

/** The suffix of the ids of an endpoint's jobs. */
function suffixOf(endpointId: EndpointId): string {
  return deliveryIdOf({ eventId: '' as EventId, endpointId });
}

/** While an endpoint has deliveries in two shards, one may be in both for a moment. */
function firstOf(marks: readonly Mark[], limit: number): readonly Mark[] {
  const byId = new Map(marks.map((mark) => [mark.id, mark]));
  return [...byId.values()].toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).slice(0, limit);
}
