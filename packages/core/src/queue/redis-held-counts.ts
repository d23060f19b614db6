import { z } from 'zod';
import { type HoldReason, holdReasons } from '../domain/delivery';
import { decodeAddress, type EndpointAddress, encodeAddress } from '../domain/endpoint';
import { queueKeysOf } from '../domain/keys';
import type { QueueShard, QueueShards } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';

/**
 * For scripts that change which of an endpoint's deliveries are held:
 * `count_held(counts, counted, endpoint, left, reason)`, once per change, with the present number. All of
 * them count for one reason, that of the last one held; without a reason it stays.
 *
 * `counted` has the share of each endpoint in `counts`, so a sum can't drift: the endpoint's next change
 * corrects an error, or its next recount.
 */
export const COUNT_HELD = `
  local function count_held(counts, counted, endpoint, left, reason)
    local before, many = string.match(redis.call('HGET', counted, endpoint) or '', '^(%S+) (%d+)$')
    reason = reason or before
    if reason == before and tonumber(many) == left then return end
    if before and redis.call('HINCRBY', counts, before, -tonumber(many)) == 0 then
      redis.call('HDEL', counts, before)
    end
    if left == 0 or not reason then
      redis.call('HDEL', counted, endpoint)
    else
      redis.call('HSET', counted, endpoint, string.format('%s %d', reason, left))
      redis.call('HINCRBY', counts, reason, left)
    end
  end`;

// KEYS: held, counts, counted endpoints. ARGV: endpoint.
const RECOUNT = defineScript(
  `
  count_held(KEYS[2], KEYS[3], ARGV[1], redis.call('ZCARD', KEYS[1]))`,
  COUNT_HELD,
);

// A wrong count is rare.
const CHECKED_AT_ONCE = 5;

const addressesSchema = z.array(z.string().transform(decodeAddress));
const countsSchema = z.partialRecord(z.enum(holdReasons), z.coerce.number());

/** The numbers of held deliveries over all shards of the queues. */
export class HeldCounts {
  constructor(
    private readonly redis: RedisClient,
    private readonly shards: Pick<QueueShards, 'all' | 'homeShardsOf'>,
  ) {}

  /** The numbers of all endpoints together, by reason. Each call recounts some endpoints. */
  async read(): Promise<Readonly<Record<HoldReason, number>>> {
    const counts = await this.readByShard();
    const sumOf = (reason: HoldReason) => counts.reduce((sum, some) => sum + (some[reason] ?? 0), 0);
    return {
      disabled: sumOf('disabled'),
      unverified: sumOf('unverified'),
      breaker_open: sumOf('breaker_open'),
      busy: sumOf('busy'),
      rate_limited: sumOf('rate_limited'),
      ordering: sumOf('ordering'),
      no_token: sumOf('no_token'),
      batching: sumOf('batching'),
    };
  }

  /** In the order of the shards; reasons for which none is held are left out. */
  async readByShard(): Promise<readonly Readonly<Partial<Record<HoldReason, number>>>[]> {
    return await Promise.all(this.shards.all().map((shard) => this.#readIn(shard)));
  }

  /** Call it after entries of an endpoint were removed without a release. */
  async recount(address: EndpointAddress): Promise<void> {
    const shards = this.shards.homeShardsOf(address.endpointId);
    await Promise.all(shards.map((shard) => this.#recountIn(shard, address)));
  }

  async #readIn(shard: QueueShard): Promise<z.infer<typeof countsSchema>> {
    const { heldCounts, countedAsHeld } = queueKeysOf(shard.prefix);
    const some = addressesSchema.parse(await this.redis.hrandfield(countedAsHeld, CHECKED_AT_ONCE));
    await Promise.all(some.map((address) => this.#recountIn(shard, address)));
    return countsSchema.parse(await this.redis.hgetall(heldCounts));
  }

  async #recountIn({ prefix }: QueueShard, address: EndpointAddress): Promise<void> {
    const { held, heldCounts, countedAsHeld } = queueKeysOf(prefix);
    const keys = [held(address.endpointId), heldCounts, countedAsHeld];
    await RECOUNT(this.redis, keys, [encodeAddress(address)]);
  }
}
