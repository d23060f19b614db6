import type { RedisClient } from '../kernel/redis-connect';
import { withStorageErrors } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import type { AccountId } from '../model/event';
import { COUNT_UP, endpointsKeys } from './redis-endpoint-keys';

// Their ids stay: they lead to what else there is of each.
const REMOVE_ALL = defineScript(`
  if redis.call('UNLINK', KEYS[1], KEYS[4], KEYS[5]) == 0 then return end
  ${COUNT_UP}`);

/** Removes all endpoints of an account at once. What else there is of them, the account's erasure finds by their ids. */
export function createRedisRemoveEndpoints(redis: RedisClient) {
  return withStorageErrors({
    async removeEndpoints(accountId: AccountId): Promise<void> {
      await REMOVE_ALL(redis, endpointsKeys(accountId), []);
    },
  }).removeEndpoints;
}

export type RemoveEndpoints = ReturnType<typeof createRedisRemoveEndpoints>;
