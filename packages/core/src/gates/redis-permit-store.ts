import type { EndpointId } from '../endpoints/endpoint';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';

export interface PermitRequest {
  /** Unique to the attempt, also among those that repeat it after a crash. */
  readonly permit: string;
  /** How many there may be. */
  readonly limit: number;
  /** When it expires by itself, because its worker died. Milliseconds, longer than any attempt. */
  readonly leaseMs: number;
  /** Whether the delivery has waited at the gate: no other one goes before those that wait. */
  readonly hasWaited: boolean;
}

export interface FreePermits {
  readonly free: number;
  /** In how many milliseconds the next one expires; none: none is taken. */
  readonly nextInMs: number | undefined;
}

/** A limit is so many in this time. */
export const PERMIT_WINDOW_MS = 1_000;
// Of an endpoint without attempts nothing stays.
const KEPT_MS = 3_600_000;

// All workers go by the clock of Redis. An expired permit is dropped when its millisecond is over, so that the
// window is a whole second also where a clock's milliseconds begin.
const NOW = `
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local function at(ms) return string.format('%d', now + ms) end`;
const DROP_EXPIRED = `redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. at(0))`;

// KEYS: permits, parked. ARGV: permit, limit, lease, whether it has waited, how long to keep all.
const TAKE = `${NOW}
  ${DROP_EXPIRED}
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  if ARGV[4] == '0' and redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
  redis.call('ZADD', KEYS[1], at(tonumber(ARGV[3])), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  return 1`;

// KEYS: permits. ARGV: limit. Gives how many are free, and in how many milliseconds the next one is; -1: none is taken.
const COUNT_FREE = `${NOW}
  ${DROP_EXPIRED}
  local free = tonumber(ARGV[1]) - redis.call('ZCARD', KEYS[1])
  local next = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {free, next[2] and tonumber(next[2]) + 1 - now or -1}`;

// KEYS: permits, parked. ARGV: permit, window. Gives whether deliveries wait for it.
const GIVE_BACK = `${NOW}
  redis.call('ZADD', KEYS[1], 'XX', at(tonumber(ARGV[2])), ARGV[1])
  return redis.call('EXISTS', KEYS[2])`;

/**
 * What an attempt at an endpoint with a rate limit needs, and keeps until one second after it has ended. Since its
 * request arrives before that end, no second sees more arrivals than there are permits, however long each was on its way.
 */
export function createRedisPermitStore(redis: RedisClient) {
  return withStorageErrors({
    /** Whether there was one to be had. */
    async take(
      endpointId: EndpointId,
      { permit, limit, leaseMs, hasWaited }: PermitRequest,
    ): Promise<boolean> {
      const args = [permit, limit, leaseMs, hasWaited ? 1 : 0, leaseMs + KEPT_MS].map(String);
      return (await redis.eval(TAKE, 2, keys.permits(endpointId), keys.parked(endpointId), ...args)) === 1;
    },

    async countFree(endpointId: EndpointId, limit: number): Promise<FreePermits> {
      const reply = await redis.eval(COUNT_FREE, 1, keys.permits(endpointId), String(limit));
      const [free = 0, nextInMs = -1] = reply as number[];
      return { free: Math.max(free, 0), nextInMs: nextInMs < 0 ? undefined : nextInMs };
    },

    /** Resolves to whether deliveries wait for it; it is free again after `PERMIT_WINDOW_MS`. */
    async giveBack(endpointId: EndpointId, permit: string): Promise<boolean> {
      const args = [permit, String(PERMIT_WINDOW_MS)];
      return (
        (await redis.eval(GIVE_BACK, 2, keys.permits(endpointId), keys.parked(endpointId), ...args)) === 1
      );
    },
  });
}

export type PermitStore = ReturnType<typeof createRedisPermitStore>;
