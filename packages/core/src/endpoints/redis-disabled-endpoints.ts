import type { AccountId } from '../domain/account';
import { decodeAddress, type Endpoint, type EndpointId, encodeAddress } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { type RedisClient, withStorageErrors } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { type Mark, readTimeline } from '../platform/redis-timeline';

/** An endpoint that is counted as disabled. */
export interface CountedAsDisabled {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  /** The version of the record that it was counted for: when that was written. */
  readonly since: number;
}

// Somebody may have disabled it once more meanwhile: that stays. KEYS: disabled. ARGV: endpoint, the latest version to go.
const LEAVE = defineScript(`
  local since = redis.call('ZSCORE', KEYS[1], ARGV[1])
  if since and tonumber(since) <= tonumber(ARGV[2]) then redis.call('ZREM', KEYS[1], ARGV[1]) end`);

/**
 * Which endpoints are disabled, for those who ask how many there are: whether one is disabled is for its own record to say,
 * which in a Cluster is on another node. An endpoint enters before its record changes and leaves after it, so a process that
 * dies in between leaves one too many, which `some` finds.
 */
export function createRedisDisabledEndpoints(redis: RedisClient) {
  return withStorageErrors({
    async enter({ accountId, id, updatedAt }: Endpoint): Promise<void> {
      await redis.zadd(keys.disabledEndpoints, 'GT', updatedAt, encodeAddress({ accountId, endpointId: id }));
    },

    /** @param until the version of the record until which it was disabled. */
    async leave(accountId: AccountId, endpointId: EndpointId, until: number): Promise<void> {
      await LEAVE(redis, [keys.disabledEndpoints], [encodeAddress({ accountId, endpointId }), until]);
    },

    async count(): Promise<number> {
      return await redis.zcard(keys.disabledEndpoints);
    },

    /** Addresses with since when, the latest first. `after` is the last one of the part before. */
    async list(limit: number, after?: Mark): Promise<readonly Mark[]> {
      return await readTimeline(redis, keys.disabledEndpoints, { order: 'newest_first', limit, after });
    },

    /** So many at most, by chance. */
    async some(limit: number): Promise<readonly CountedAsDisabled[]> {
      const pairs = await redis.zrandmember(keys.disabledEndpoints, limit, 'WITHSCORES');
      return pairs.flatMap((address, i) => (i % 2 === 0 ? [toCounted(address, pairs[i + 1])] : []));
    },
  });
}

export type DisabledEndpoints = ReturnType<typeof createRedisDisabledEndpoints>;

function toCounted(address: string, since: string | undefined): CountedAsDisabled {
  return { ...decodeAddress(address), since: Number(since) };
}
