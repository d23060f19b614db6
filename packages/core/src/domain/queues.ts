import { EVENTS_QUEUE } from '@hookferry/producer/contract';
import slotOf from 'cluster-key-slot';

/** One part of the queues. All its keys have one hash tag, so in a Redis Cluster they are on one node. */
export interface QueueShard {
  /** BullMQ's key prefix there. No two shards have the same. */
  readonly prefix: string;
}

/** How the queues are split. */
export interface QueueLayout {
  /** The same in every layout. */
  readonly first: QueueShard;
  /** In a fixed order that begins with the first shard. */
  readonly shards: readonly QueueShard[];
  /** Where the deliveries of an endpoint, or the events of an account, belong. */
  readonly shardOf: (id: string) => QueueShard;
}

/**
 * Where the queues' shards are at this moment. While the queues are being split again several layouts exist
 * at once, and the jobs of an id may still be on its former home shard.
 */
export interface QueueShards {
  /** The shard that exists in every layout. Producers push there. */
  readonly first: QueueShard;
  /** All shards that may hold something, the first shard first. */
  all(): readonly QueueShard[];
  /** The home shard of an endpoint or an account: new jobs go there. */
  homeShardOf(id: string): QueueShard;
  /** The shards that may hold jobs of an id: its home shard first, then its home shards in other layouts. */
  homeShardsOf(id: string): readonly QueueShard[];
}

/** Queues that are not split. */
export function oneShard(prefix: string): QueueShards {
  return shardsAmong(createQueueLayout(1, prefix), []);
}

/** @param others layouts that other processes may use, or have used. */
export function shardsAmong(layout: QueueLayout, others: readonly QueueLayout[]): QueueShards {
  const all = distinct([layout, ...others].flatMap(({ shards }) => shards));
  return {
    first: layout.first,
    all: () => all,
    homeShardOf: layout.shardOf,
    homeShardsOf:
      others.length === 0
        ? (id) => [layout.shardOf(id)]
        : (id) => distinct([layout, ...others].map(({ shardOf }) => shardOf(id))),
  };
}

function distinct(shards: readonly QueueShard[]): readonly QueueShard[] {
  return [...new Map(shards.map((shard) => [shard.prefix, shard])).values()];
}

/** How many slots a Redis Cluster shares out among its masters. */
const HASH_SLOTS = 16_384;
const FIRST_TAG = 'bull';

/**
 * Split the queues over `count` hash tags. The first tag keeps the prefix that producers know, so a layout of
 * one shard equals queues that were never split.
 *
 * Ids are spread over a ring, and each shard owns an equal part of it. The tag of a part has its slot as far
 * along the slots as the part is along the ring. So masters with equal ranges have equal shares if their
 * number divides the number of shards. If the number of shards is multiplied, the existing shards keep their
 * tags and half, a third, … of their ids.
 */
export function createQueueLayout(count: number, firstPrefix: string): QueueLayout {
  const first = { prefix: firstPrefix };
  const shards = [first, ...furtherTags(count).map((tag) => ({ prefix: `{${tag}}` }))];
  return { first, shards, shardOf: (id) => shards[placeOf(id, count)] ?? first };
}

/**
 * For each shard but the first, the first numbered tag that has exactly its slot. For 64 shards it takes some
 * 50 ms.
 */
function furtherTags(count: number): readonly string[] {
  const start = slotOf(FIRST_TAG);
  const slots = Array.from({ length: count - 1 }, (_, i) => {
    return (start + Math.floor(((i + 1) * HASH_SLOTS) / count)) % HASH_SLOTS;
  });
  const missing = new Set(slots);
  const tags = new Map<number, string>();
  for (let number = 1; missing.size > 0; number += 1) {
    const tag = `${FIRST_TAG}-${number}`;
    const slot = slotOf(tag);
    if (missing.delete(slot)) tags.set(slot, tag);
  }
  return slots.flatMap((slot) => tags.get(slot) ?? []);
}

function placeOf(id: string, count: number): number {
  return count === 1 ? 0 : Math.floor((hashOf(id) / 2 ** 32) * count);
}

// FNV-1a, and the last step of MurmurHash3. Without that step, ids that differ only in their last characters
// would lie side by side.
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export { EVENTS_QUEUE };

/** One job a delivery; its id is the delivery's id. */
export const DELIVERIES_QUEUE = 'deliveries';

/** One job a replay; its id is the replay's id. */
export const REPLAYS_QUEUE = 'replays';

/** One job for each account that is being erased. */
export const ERASURES_QUEUE = 'erasures';

/** Entries of the events queue that are not valid events, each with its reason. No worker takes from it. */
export const DEAD_LETTERS_QUEUE = 'events-dead-letters';

/** The queues that workers take jobs from. */
export const workedQueues = [EVENTS_QUEUE, DELIVERIES_QUEUE, REPLAYS_QUEUE, ERASURES_QUEUE] as const;
export type WorkedQueue = (typeof workedQueues)[number];
