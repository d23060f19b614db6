import {
  batchJobIdOf,
  decodeHolds,
  deliveryIdOf,
  holdsSince,
  type PastHold,
  wasHeldAt,
} from '../domain/delivery';
import {
  type EndpointAddress,
  type EndpointId,
  type LaneName,
  laneNameOf,
  lineOfLane,
} from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf, type ShardKeys } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShards } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { readTimeline, timelinePages } from '../platform/redis-timeline';
import { laneStanding } from './bullmq-lanes.script';
import { createJobKeys, type JobKeys, jobFields } from './bullmq-layout';
import { PerShard } from './per-shard';

/** What a lane tells of its deliveries. */
export interface LaneStanding {
  /** Of a group. Absent: the lane is that of the whole endpoint. */
  readonly line?: string | undefined;
  /** Whose turn it is, or comes next. */
  readonly first: EventId;
  /** Whether it does not go on. */
  readonly isHeld: boolean;
  /** Whether it has a job. An operator may have removed it: then a wake-up makes it anew. */
  readonly hasJob: boolean;
  /** Whether newer events may come in place of those that are there. */
  readonly isInWindow: boolean;
  /** Of its first delivery. */
  readonly holds: readonly PastHold[];
  /** Whether its deliveries go in batches, and need not wait for each other. */
  readonly isInBatches: boolean;
}

/** The keys of a shard. */
export interface HeldShard {
  readonly jobs: JobKeys;
  readonly keys: ShardKeys;
}

export function openHeldShard(prefix: string): HeldShard {
  return { jobs: createJobKeys(prefix, DELIVERIES_QUEUE), keys: queueKeysOf(prefix) };
}

/** The lists that have an endpoint's held deliveries: those with jobs, and those in lanes. */
export function heldListsOf({ keys }: HeldShard, endpointId: EndpointId): readonly string[] {
  return [keys.held(endpointId), keys.lane(laneNameOf(endpointId)), keys.grouped(endpointId)];
}

const READ_AT_ONCE = 250;

/** Why deliveries are held, and since when: their jobs tell it, or the lanes that they are in. */
export class DeliveryHolds {
  readonly #shards = new PerShard(openHeldShard);

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
  ) {}

  /** What the job of a held delivery tells of its holds, or its lane. Those before the former attempt may be among them. */
  async holdsOf(endpointId: EndpointId, eventId: EventId): Promise<readonly PastHold[]> {
    const [holds = []] = await this.#holdsOfEach(this.#shardsOf(endpointId), endpointId, [eventId]);
    return holds;
  }

  /** What the lane of a delivery tells of its deliveries; `undefined`: it is in none. */
  async findLane(endpointId: EndpointId, eventId: EventId): Promise<LaneStanding | undefined> {
    const [lane] = await findLanesAmong(this.redis, this.#shardsOf(endpointId), endpointId, [eventId]);
    return lane;
  }

  /**
   * Some of those that were held at a time and still are, ordered by the acceptance of their events, in the shard whose
   * wake-ups release them.
   */
  async findHeldAt({ endpointId }: EndpointAddress, at: number, most: number): Promise<readonly EventId[]> {
    const home = this.#shards.in(this.shards.homeShardOf(endpointId));
    const found = new Set<EventId>();
    for (const list of heldListsOf(home, endpointId)) {
      const pages = timelinePages(READ_AT_ONCE, (limit, after) =>
        readTimeline(this.redis, list, { order: 'oldest_first', range: { until: at + 1 }, limit, after }),
      );
      for await (const page of pages) {
        const eventIds = page.map(({ id }) => id as EventId);
        const holds = await this.#holdsOfEach([home], endpointId, eventIds);
        for (const [i, eventId] of eventIds.entries()) if (wasHeldAt(holds[i] ?? [], at)) found.add(eventId);
        if (found.size >= most) return [...found].slice(0, most);
      }
    }
    return [...found];
  }

  async #holdsOfEach(
    shards: readonly HeldShard[],
    endpointId: EndpointId,
    eventIds: readonly EventId[],
  ): Promise<readonly (readonly PastHold[])[]> {
    const ofJobs = await Promise.all(shards.map((shard) => this.#holdsOfJobs(shard, endpointId, eventIds)));
    const told = eventIds.map((_, i) => ofJobs.flatMap((texts) => decodeHolds(texts[i] ?? '')));
    const others = eventIds.filter((_, i) => told[i]?.length === 0);
    const lanes = await findLanesAmong(this.redis, shards, endpointId, others);
    const inLanes = new Map(
      lanes.flatMap((lane) => lane.entries.map((entry) => [entry.eventId, holdsIn(lane, entry)] as const)),
    );
    return eventIds.map((eventId, i) => inLanes.get(eventId) ?? told[i] ?? []);
  }

  // Its own, or its batch's.
  async #holdsOfJobs(
    { jobs, keys }: HeldShard,
    endpointId: EndpointId,
    eventIds: readonly EventId[],
  ): Promise<readonly (string | null)[]> {
    const batches = await this.redis.hmget(keys.batches(endpointId), ...eventIds);
    return await Promise.all(
      eventIds.map((eventId, i) => {
        const batch = batches[i];
        const id = batch ? batchJobIdOf(batch, endpointId) : deliveryIdOf({ eventId, endpointId });
        return this.redis.hget(jobs.job(id), jobFields.holds);
      }),
    );
  }

  #shardsOf(endpointId: EndpointId): readonly HeldShard[] {
    return this.#shards.inEach(this.shards.homeShardsOf(endpointId));
  }
}

// Its place says since when it waits behind others, or for the lane to go on. Of a line in its window none is held.
function holdsIn(lane: LaneStanding, { eventId, place }: LaneEntry): readonly PastHold[] {
  if (lane.isInWindow) return [];
  if (lane.isInBatches) return holdsSince(lane.holds, place);
  return lane.first === eventId ? lane.holds : [{ reason: 'ordering', since: place }];
}

interface LaneEntry {
  readonly eventId: EventId;
  /** When it was accepted, or its place behind an earlier one. */
  readonly place: number;
}

/** The lanes that some deliveries of an endpoint are in, each with those of them that it has. */
export async function findLanesAmong(
  redis: RedisClient,
  shards: readonly HeldShard[],
  endpointId: EndpointId,
  eventIds: readonly EventId[],
): Promise<readonly (LaneStanding & { readonly entries: readonly LaneEntry[] })[]> {
  if (eventIds.length === 0) return [];
  const found = shards.map(async ({ jobs, keys }) => {
    const [lines, inWhole, inLines] = await Promise.all([
      redis.hmget(keys.lines(endpointId), ...eventIds),
      redis.zmscore(keys.lane(laneNameOf(endpointId)), ...eventIds),
      redis.zmscore(keys.grouped(endpointId), ...eventIds),
    ]);
    const byLane = new Map<LaneName, LaneEntry[]>();
    for (const [i, eventId] of eventIds.entries()) {
      const line = lines[i] ?? undefined;
      const place = line === undefined ? inWhole[i] : inLines[i];
      if (typeof place !== 'string') continue;
      const name = laneNameOf(endpointId, line);
      byLane.set(name, [...(byLane.get(name) ?? []), { eventId, place: Number(place) }]);
    }
    const standings = [...byLane].map(async ([name, entries]) => {
      const standing = laneStanding({ base: jobs.base, name });
      const { first, holds, ...told } = await standing(redis);
      // It has ended meanwhile.
      if (first === undefined) return undefined;
      return { ...told, line: lineOfLane(endpointId, name), first, holds: decodeHolds(holds ?? ''), entries };
    });
    return (await Promise.all(standings)).filter((each) => each !== undefined);
  });
  return (await Promise.all(found)).flat();
}
