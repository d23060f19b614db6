import { MAX_OPEN_MS, PROBE_MS } from '../../domain/breaker';
import { type EndpointAddress, encodeAddress } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { type RedisClient, withStorageErrors } from '../../platform/redis-connect';
import { defineScript } from '../../platform/redis-script';
import { type Mark, readTimeline } from '../../platform/redis-timeline';

// KEYS: open breakers. ARGV: address, until when it counts, now, for how long any counts at most.
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
    async enter(address: EndpointAddress, openUntil: number, now: number): Promise<void> {
      const args = [encodeAddress(address), openUntil + PROBE_MS, now, MAX_OPEN_MS + PROBE_MS];
      await ENTER(redis, [keys.openBreakers], args);
    },

    async leave(address: EndpointAddress): Promise<void> {
      await redis.zrem(keys.openBreakers, encodeAddress(address));
    },

    async count(now: number): Promise<number> {
      return await redis.zcount(keys.openBreakers, now, '+inf');
    },

    /** Addresses with until when they count, the latest first. `after` is the last one of the part before. */
    async list(now: number, limit: number, after?: Mark): Promise<readonly Mark[]> {
      const range = { since: now };
      return await readTimeline(redis, keys.openBreakers, { order: 'newest_first', range, limit, after });
    },
  });
}

export type OpenBreakers = ReturnType<typeof createRedisOpenBreakers>;
