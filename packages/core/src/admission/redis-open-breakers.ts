import type { RedisClient } from '../kernel/redis-connect';
import { withStorageErrors } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import { MAX_OPEN_MS, PROBE_MS } from '../model/breaker';
import type { EndpointId } from '../model/endpoint';
import { keys } from '../model/keys';

// KEYS: open breakers. ARGV: endpoint, until when it counts, now, for how long any counts at most.
const ENTER = defineScript(`
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])`);

/**
 * Which endpoints' breakers are open, for those who ask how many there are: whether one is open is for its own record to
 * say. Each is here for as long as it is open and waits for its probe, a minute at most. So a worker that dies between the
 * two records leaves this one wrong for two minutes at most.
 */
export function createRedisOpenBreakers(redis: RedisClient) {
  return withStorageErrors({
    /** Both in milliseconds since the Unix epoch. */
    async enter(endpointId: EndpointId, openUntil: number, now: number): Promise<void> {
      const args = [endpointId, openUntil + PROBE_MS, now, MAX_OPEN_MS + PROBE_MS];
      await ENTER(redis, [keys.openBreakers], args);
    },

    async leave(endpointId: EndpointId): Promise<void> {
      await redis.zrem(keys.openBreakers, endpointId);
    },

    async count(now: number): Promise<number> {
      return await redis.zcount(keys.openBreakers, now, '+inf');
    },
  });
}

export type OpenBreakers = ReturnType<typeof createRedisOpenBreakers>;
