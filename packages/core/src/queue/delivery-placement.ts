import type { DeliveryParts, DeliveryRun } from '../domain/delivery';
import { keys } from '../domain/keys';
import type { QueueShard } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import type { ShardedDeliveryQueue } from './bullmq-delivery-queue';
import type { ShardsInForce } from './shards-in-force';

export interface DeliveryPlacementDeps {
  readonly shards: Pick<ShardsInForce, 'homeShardOf' | 'formerHomeShardsOf' | 'isSettled'>;
  readonly deliveryQueue: Pick<ShardedDeliveryQueue, 'moveToHomeShard' | 'isRunningIn'>;
  readonly claims: SendingClaims;
}

/**
 * Whether a delivery's job may be worked on where it is. While the queues are being split anew there may be two jobs for one
 * delivery, in two shards: the one that is not at home is brought there, and while processes may disagree about where that
 * is, whoever works on either keeps the other waiting. As long as all agree, which is nearly always, this costs no command.
 */
export function createDeliveryPlacement({ shards, deliveryQueue, claims }: DeliveryPlacementDeps) {
  async function work<Result>(
    run: DeliveryRun,
    shard: QueueShard,
    attempt: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    if (shards.isSettled) return await attempt();
    if (!(await claims.claim(run, shard))) return 'elsewhere';
    try {
      // What began before anybody knew of another layout has claimed nothing.
      if (await deliveryQueue.isRunningIn(shards.formerHomeShardsOf(run.endpointId), run)) return 'elsewhere';
      return await attempt();
    } finally {
      await claims.release(run, shard);
    }
  }

  return {
    isInHomeShard: ({ endpointId }: Pick<DeliveryRun, 'endpointId'>, shard: QueueShard): boolean =>
      shards.homeShardOf(endpointId).prefix === shard.prefix,

    /** @returns whether the job may end where it is: not so while a worker is at another one at home. */
    moveToHomeShard: (run: DeliveryRun): Promise<boolean> => deliveryQueue.moveToHomeShard(run),

    /** Makes an attempt, unless the delivery is just being worked on in another shard. */
    work,
  };
}

export type DeliveryPlacement = ReturnType<typeof createDeliveryPlacement>;

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
