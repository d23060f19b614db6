import type { RedisClient } from '../kernel/redis-connect';
import type { QueueShards } from '../model/queue-layout';
import { createBullmqOldestWaiting, type OldestWaiting } from './bullmq-oldest-waiting';
import { PerShard } from './per-shard';

/** Reads how long the oldest job of each queue has waited, in whichever shard it is. */
export function createShardedOldestWaiting(redis: RedisClient, shards: QueueShards) {
  const perShard = new PerShard(redis, createBullmqOldestWaiting);

  /** The same for each shard, in their order. */
  async function readEach(now: number): Promise<readonly (readonly OldestWaiting[])[]> {
    return await Promise.all(perShard.inEach(shards.all()).map((store) => store.read(now)));
  }

  return {
    readEach,

    async read(now: number): Promise<OldestWaiting[]> {
      const [first = [], ...others] = await readEach(now);
      // Each tells of the same queues, in the same order.
      return first.map(({ queue, waitedMs }, i): OldestWaiting => {
        return { queue, waitedMs: Math.max(waitedMs, ...others.map((more) => more[i]?.waitedMs ?? 0)) };
      });
    },
  };
}

export type ShardedOldestWaiting = ReturnType<typeof createShardedOldestWaiting>;
