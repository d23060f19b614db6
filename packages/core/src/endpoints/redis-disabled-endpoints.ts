import type { RedisClient } from '../kernel/redis-connect';
import { withStorageErrors } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import { type Endpoint, type EndpointId, endpointIdSchema } from '../model/endpoint';
import { type AccountId, accountIdSchema } from '../model/event';
import { keys } from '../model/keys';

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
      await redis.zadd(keys.disabledEndpoints, 'GT', updatedAt, `${accountId}/${id}`);
    },

    /** @param until the version of the record until which it was disabled. */
    async leave(accountId: AccountId, endpointId: EndpointId, until: number): Promise<void> {
      await LEAVE(redis, [keys.disabledEndpoints], [`${accountId}/${endpointId}`, until]);
    },

    async count(): Promise<number> {
      return await redis.zcard(keys.disabledEndpoints);
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
  const [accountId, endpointId] = address.split('/');
  return {
    accountId: accountIdSchema.parse(accountId),
    endpointId: endpointIdSchema.parse(endpointId),
    since: Number(since),
  };
}
