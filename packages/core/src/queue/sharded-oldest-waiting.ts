import type { RedisClient } from '../kernel/redis-connect';
import type { QueueShards } from '../model/queue-layout';
import {
  type BullmqOldestWaiting,
  createBullmqOldestWaiting,
  type OldestWaiting,
} from './bullmq-oldest-waiting';
import { PerShard } from './per-shard';

/** Reads how long the oldest job of each queue has waited, in whichever shard it is. */
export function createShardedOldestWaiting(redis: RedisClient, shards: QueueShards): BullmqOldestWaiting {
  const perShard = new PerShard(redis, createBullmqOldestWaiting);
  return {
    async read(now) {
      const stores = perShard.inEach(shards.all());
      const [first = [], ...others] = await Promise.all(stores.map((store) => store.read(now)));
      // Each tells of the same queues, in the same order.
      return first.map(({ queue, waitedMs }, i): OldestWaiting => {
        return { queue, waitedMs: Math.max(waitedMs, ...others.map((more) => more[i]?.waitedMs ?? 0)) };
      });
    },
  };
}
