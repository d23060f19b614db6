import type { AccountId } from '../domain/account';
import {
  batchJobIdOf,
  decodeHolds,
  deliveryIdOf,
  encodeHold,
  encodeHoldTime,
  type HoldReason,
  holdsSince,
  laneJobIdOf,
  type PastHold,
  wasHeldAt,
} from '../domain/delivery';
import {
  decodeAddress,
  type EndpointAddress,
  type EndpointId,
  encodeAddress,
  type LaneName,
  laneNameOf,
} from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
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
import {
  askForWakeUp,
  claimDueWakeUps,
  countAllHeld,
  enterHeld,
  forgetHeld,
  releaseHeld,
} from './bullmq-held-deliveries.script';
import { findLanes, laneStanding } from './bullmq-lanes.script';
import { createJobKeys, jobFields } from './bullmq-layout';
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

export interface LaneStanding {
  /** Whose turn it is, or comes next. */
  readonly first: EventId;
  /** Whether it does not go on. */
  readonly isHeld: boolean;
  /** Whether newer events may come in place of those that are there. */
  readonly isInWindow: boolean;
  /** Of its first delivery. */
  readonly holds: readonly PastHold[];
  /** Whether its deliveries go in batches, and need not wait for each other. */
  readonly isInBatches: boolean;
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
const READ_AT_ONCE = 250;
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
  readonly #shards = new PerShard(openShard);

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
    const { jobs, keys } = this.#homeShard(address);
    const suffix = suffixOf(address.endpointId);
    const { jobId, deliveries } = together ?? { jobId: own.eventId + suffix, deliveries: [own] };
    const now = this.clock();
    const others = await enterHeld({
      jobs,
      held: keys.held(address.endpointId),
      wakeUps: keys.wakeUps,
      counts: keys.heldCounts,
      counted: keys.countedAsHeld,
      base: jobs.base,
      tag: keys.tag,
      suffix,
      job: jobId,
      events: deliveries.map(({ eventId }) => eventId),
      acceptedAt: deliveries.map(({ acceptedAt }) => acceptedAt),
      endpoint: encodeAddress(address),
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
    const { jobs, keys } = this.#homeShard(address);
    return await releaseHeld({
      jobs,
      held: keys.held(address.endpointId),
      wakeUps: keys.wakeUps,
      counts: keys.heldCounts,
      counted: keys.countedAsHeld,
      behindHeads: keys.behindHeads,
      orderState: keys.fairOrder(DELIVERIES_QUEUE),
      weights: keys.accountWeights,
      base: jobs.base,
      tag: keys.tag,
      suffix: suffixOf(address.endpointId),
      endpoint: encodeAddress(address),
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
    const { jobs, keys } = this.#homeShard(address);
    await forgetHeld({
      base: jobs.base,
      tag: keys.tag,
      held: keys.held(address.endpointId),
      counts: keys.heldCounts,
      counted: keys.countedAsHeld,
      event: eventId,
      endpoint: encodeAddress(address),
    })(this.redis);
  }

  /**
   * Ask for a wake-up of an endpoint, unless an earlier one is due.
   *
   * @param wakesLines whether all lines of the endpoint go on that are not held: what they wait for may be another thing now. Wake-ups put
   *   them back, some hundreds at a time. Default: `false`.
   */
  async askForWakeUp(address: EndpointAddress, at: number, wakesLines = false): Promise<void> {
    const { wakeUps, lines } = this.#homeShard(address).keys;
    const asked = { wakeUps, lines: lines(address.endpointId), endpoint: encodeAddress(address) };
    await askForWakeUp({ ...asked, at, wakesLines })(this.redis);
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
    const claims = this.#shards.inEach(this.served()).map(async ({ keys: { wakeUps } }) => {
      const [due] = await this.atomic([claimDueWakeUps({ wakeUps, now, most, againAt: now + CLAIM_MS })]);
      return due;
    });
    return (await Promise.all(claims)).flat().map(decodeAddress);
  }

  /** All held deliveries of an endpoint, page by page, ordered by the acceptance of their events. */
  async *pagesOf(endpointId: EndpointId): AsyncGenerator<readonly HeldDelivery[], void> {
    yield* this.#pages(this.#listsOf(endpointId));
  }

  async *#pages(lists: readonly string[]): AsyncGenerator<readonly HeldDelivery[], void> {
    const order = 'oldest_first';
    for (const key of lists) {
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
      shards.map(({ jobs, keys }) => {
        const name = laneNameOf(endpointId);
        return countAllHeld({
          held: keys.held(endpointId),
          grouped: keys.grouped(endpointId),
          lines: keys.lines(endpointId),
          lane: keys.lane(name),
          job: jobs.job(laneJobIdOf(name)),
        })(this.redis);
      }),
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
    for (const lane of await this.#lanesAmong(endpointId, [...held])) {
      if (lane.isInWindow) for (const eventId of lane.asked) held.delete(eventId);
      else if (lane.isHeld) continue;
      else if (!lane.isInBatches) held.delete(lane.first);
      else for (const eventId of await this.#findInLane(endpointId, lane.asked)) held.delete(eventId);
    }
    return held;
  }

  async #findInLane(endpointId: EndpointId, eventIds: readonly EventId[]): Promise<readonly EventId[]> {
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    const lanes = shards.map(({ keys }) => keys.lane(laneNameOf(endpointId)));
    const areThere = await findInAny(this.redis, lanes, eventIds);
    return eventIds.filter((_, i) => areThere[i]);
  }

  /** What the lane of a delivery tells of its deliveries; `undefined`: it is in none. */
  async findLane(endpointId: EndpointId, eventId: EventId): Promise<LaneStanding | undefined> {
    return (await this.#lanesAmong(endpointId, [eventId]))[0];
  }

  /** The lanes that some events are in. */
  async #lanesAmong(
    endpointId: EndpointId,
    eventIds: readonly EventId[],
  ): Promise<readonly (LaneStanding & { readonly asked: readonly EventId[] })[]> {
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    const found = shards.map(async ({ jobs, keys }) => {
      const asked = new Map<LaneName, EventId[]>();
      const lines = await this.redis.hmget(keys.lines(endpointId), ...eventIds);
      for (const [i, eventId] of eventIds.entries()) {
        const name = laneNameOf(endpointId, lines[i] ?? undefined);
        asked.set(name, [...(asked.get(name) ?? []), eventId]);
      }
      const standings = [...asked].map(async ([name, events]) => {
        const jobId = laneJobIdOf(name);
        const looked = { lane: keys.lane(name), job: jobs.job(jobId), lock: jobs.lock(jobId) };
        const { first, holds, ...standing } = await laneStanding(looked)(this.redis);
        if (first === undefined) return undefined;
        const { isHeld, isInWindow, isInBatches } = standing;
        return { first, isHeld, isInWindow, isInBatches, holds: decodeHolds(holds ?? ''), asked: events };
      });
      return (await Promise.all(standings)).filter((each) => each !== undefined);
    });
    return (await Promise.all(found)).flat();
  }

  /** What the job of a held delivery tells of its holds. Those before the former attempt may be among them. */
  async holdsOf(endpointId: EndpointId, eventId: EventId): Promise<readonly PastHold[]> {
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    const told = shards.map((shard) => this.#holdsOfJob(shard, endpointId, eventId));
    const own = (await Promise.all(told)).flatMap((text) => decodeHolds(text ?? ''));
    return own.length > 0 ? own : await this.#holdsInLane(shards, endpointId, eventId);
  }

  // Its own, or its batch's.
  async #holdsOfJob({ jobs, keys }: Shard, endpointId: EndpointId, eventId: EventId): Promise<string | null> {
    const own = await this.redis.hget(jobs.job(deliveryIdOf({ eventId, endpointId })), jobFields.holds);
    if (own !== null) return own;
    const name = await this.redis.hget(keys.batches(endpointId), eventId);
    return name && (await this.redis.hget(jobs.job(batchJobIdOf(name, endpointId)), jobFields.holds));
  }

  // Its place says since when it waits behind others, or for the lane to go on.
  async #holdsInLane(
    shards: readonly Shard[],
    endpointId: EndpointId,
    eventId: EventId,
  ): Promise<readonly PastHold[]> {
    const lists = shards.flatMap(({ keys }) => [keys.lane(laneNameOf(endpointId)), keys.grouped(endpointId)]);
    const places = await Promise.all(lists.map((key) => this.redis.zscore(key, eventId)));
    const place = places.find((each) => each !== null);
    const lane = place === undefined ? undefined : await this.findLane(endpointId, eventId);
    if (lane === undefined) return [];
    if (lane.isInBatches) return holdsSince(lane.holds, Number(place));
    return lane.first === eventId ? lane.holds : [{ reason: 'ordering', since: Number(place) }];
  }

  /**
   * Some of those that were held at a time and still are, ordered by the acceptance of their events, in the shard whose
   * wake-ups release them.
   */
  async findHeldAt(address: EndpointAddress, at: number, most: number): Promise<readonly EventId[]> {
    const { jobs, keys } = this.#homeShard(address);
    const { endpointId } = address;
    const found: EventId[] = [];
    const pages = timelinePages(READ_AT_ONCE, (limit, after) =>
      readTimeline(this.redis, keys.held(address.endpointId), {
        order: 'oldest_first',
        range: { until: at + 1 },
        limit,
        after,
      }),
    );
    for await (const page of pages) {
      const told = page.map(({ id }) => this.#holdsOfJob({ jobs, keys }, endpointId, id as EventId));
      const texts = await Promise.all(told);
      for (const [i, { id }] of page.entries()) {
        const holds = texts[i] ?? (await this.#holdsOfLine(address, id as EventId));
        if (wasHeldAt(typeof holds === 'string' ? decodeHolds(holds) : holds, at)) found.push(id as EventId);
      }
      if (found.length >= most) break;
    }
    if (found.length < most) found.push(...(await this.#findInLaneAt(address, at, most - found.length)));
    return found.slice(0, most);
  }

  async #holdsOfLine({ endpointId }: EndpointAddress, eventId: EventId): Promise<readonly PastHold[]> {
    const lane = await this.findLane(endpointId, eventId);
    return lane?.first === eventId ? lane.holds : [];
  }

  // All behind the first one were held as soon as they came.
  async #findInLaneAt(
    { endpointId }: EndpointAddress,
    at: number,
    most: number,
  ): Promise<readonly EventId[]> {
    const { keys } = this.#homeShard({ endpointId });
    const lists = [keys.lane(laneNameOf(endpointId)), keys.grouped(endpointId)];
    const read = lists.map((list) => this.redis.zrangebyscore(list, '-inf', at, 'LIMIT', 0, most));
    const ids = (await Promise.all(read)).flat() as EventId[];
    if (ids.length === 0) return [];
    const lanes = await this.#lanesAmong(endpointId, ids);
    const ofLane = new Map(lanes.flatMap((lane) => lane.asked.map((id) => [id, lane] as const)));
    return ids.filter((id) => {
      const lane = ofLane.get(id);
      // Those of a lane in batches wait for what it waits for.
      if (lane === undefined || lane.isInWindow) return false;
      return (id !== lane.first && !lane.isInBatches) || wasHeldAt(lane.holds, at);
    });
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

  #homeShard({ endpointId }: Pick<EndpointAddress, 'endpointId'>): Shard {
    return this.#shards.in(this.shards.homeShardOf(endpointId));
  }

  #listsOf(endpointId: EndpointId): readonly string[] {
    const shards = this.#shards.inEach(this.shards.homeShardsOf(endpointId));
    return shards.flatMap(({ keys }) => [
      keys.held(endpointId),
      keys.lane(laneNameOf(endpointId)),
      keys.grouped(endpointId),
    ]);
  }
}

type Shard = ReturnType<typeof openShard>;

function openShard(prefix: string) {
  return { jobs: createJobKeys(prefix, DELIVERIES_QUEUE), keys: queueKeysOf(prefix) };
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
