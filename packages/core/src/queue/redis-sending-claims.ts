import type { RedisClient } from '../kernel/redis-connect';
import { defineScript } from '../kernel/redis-script';
import type { DeliveryParts } from '../model/delivery';
import { keys } from '../model/keys';
import type { QueueShard } from '../model/queue-layout';

// Longer than an attempt takes. Only the end of a process in the middle of one makes it come to that, and then only for a
// job in another shard.
const CLAIM_MS = 120_000;

// A job that is taken over in its own shard goes on with what it had: BullMQ's lock keeps others of that shard away. KEYS: the
// claim. ARGV: shard, for how long. Gives whether it is ours.
const CLAIM = defineScript(`
  local holder = redis.call('GET', KEYS[1])
  if holder and holder ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1`);

// KEYS: the claim. ARGV: shard.
const RELEASE = defineScript(`
  if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`);

/**
 * Who works on a delivery while the queues are being split anew: for that time there may be a job for it in two shards, and
 * workers that do not agree which of them counts.
 */
export function createRedisSendingClaims(redis: RedisClient) {
  const keyOf = ({ endpointId, eventId }: DeliveryParts) => [keys.sending(endpointId, eventId)];

  return {
    /** Whether the job in this shard may be worked on: not so while the one in another is. */
    async claim(delivery: DeliveryParts, { prefix }: QueueShard): Promise<boolean> {
      return (await CLAIM(redis, keyOf(delivery), [prefix, CLAIM_MS])) === 1;
    },

    async release(delivery: DeliveryParts, { prefix }: QueueShard): Promise<void> {
      await RELEASE(redis, keyOf(delivery), [prefix]);
    },
  };
}

export type SendingClaims = ReturnType<typeof createRedisSendingClaims>;
