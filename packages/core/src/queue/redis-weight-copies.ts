import type { RedisClient } from '../kernel/redis-connect';
import { defineScript } from '../kernel/redis-script';
import { queueKeysOf } from '../model/keys';
import type { QueueShards } from '../model/queue-layout';

// KEYS: weights. ARGV: accounts and weights in turn.
const REPLACE = defineScript(`
  redis.call('DEL', KEYS[1])
  for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end`);

/** Brings the accounts' weights from the first shard, where they are set, to all others: scripts see one shard's keys only. */
export async function copyWeights(redis: RedisClient, shards: QueueShards): Promise<void> {
  const weights = await redis.hgetall(queueKeysOf(shards.first.prefix).accountWeights);
  const args = Object.entries(weights).flat();
  const others = shards.all().filter(({ prefix }) => prefix !== shards.first.prefix);
  await Promise.all(others.map(({ prefix }) => REPLACE(redis, [queueKeysOf(prefix).accountWeights], args)));
}
