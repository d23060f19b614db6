import { type DeliveryParts, type DeliveryRun } from '../domain/delivery';
import { keys } from '../domain/keys';
import type { QueueShard } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import type { DeliveryQueue } from './bullmq-delivery-queue';
import type { ShardsInForce } from './shards-in-force';

// Longer than an attempt takes. It expires only when a process ends in the middle of an attempt, and then
// matters only for a job in another shard.
const CLAIM_MS = 120_000;

// A job that is taken over in its own shard keeps the claim: BullMQ's lock keeps others of that shard away.
// KEYS: the claim. ARGV: shard, for how long. Gives whether this shard holds it.
const CLAIM = defineScript(`
  local holder = redis.call('GET', KEYS[1])
  if holder and holder ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1`);

// KEYS: the claim. ARGV: shard.
const RELEASE = defineScript(`
  if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`);

/**
 * Whether a delivery's job may run where it is. While the queues are being split again a delivery may have
 * two jobs, in two shards, and workers may disagree about which of them counts. The job outside the home
 * shard moves there, and a worker that runs either keeps the other waiting. As long as all processes agree,
 * which is nearly always, this costs no command.
 */
export class DeliveryPlacement {
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<ShardsInForce, 'homeShardOf' | 'formerHomeShardsOf' | 'isSettled'>,
    private readonly deliveryQueue: Pick<DeliveryQueue, 'isRunningIn'>,
  ) {}

  /** Whether no delivery can have a job in another shard. */
  get isSettled(): boolean {
    return this.shards.isSettled;
  }

  isInHomeShard({ endpointId }: Pick<DeliveryRun, 'endpointId'>, shard: QueueShard): boolean {
    return this.shards.homeShardOf(endpointId).prefix === shard.prefix;
  }

  /** Make an attempt, unless another shard is working on the delivery right now. */
  async work<Result>(
    run: DeliveryRun,
    shard: QueueShard,
    attempt: () => Promise<Result>,
  ): Promise<Result | 'elsewhere'> {
    if (this.shards.isSettled) return await attempt();
    if (!(await this.#claim(run, shard))) return 'elsewhere';
    try {
      // Work that began before the process knew of another layout holds no claim.
      const former = this.shards.formerHomeShardsOf(run.endpointId);
      if (await this.deliveryQueue.isRunningIn(former, run)) return 'elsewhere';
      return await attempt();
    } finally {
      await this.#release(run, shard);
    }
  }

  async #claim(delivery: DeliveryParts, { prefix }: QueueShard): Promise<boolean> {
    return (await CLAIM(this.redis, claimKeysOf(delivery), [prefix, CLAIM_MS])) === 1;
  }

  async #release(delivery: DeliveryParts, { prefix }: QueueShard): Promise<void> {
    await RELEASE(this.redis, claimKeysOf(delivery), [prefix]);
  }
}

function claimKeysOf({ endpointId, eventId }: DeliveryParts): readonly string[] {
  return [keys.sending(endpointId, eventId)];
}
