import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Allowance } from '../config/allowance';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';

/** How a window stands, all processes together. */
export interface Usage {
  /** With what was just taken; more than the allowance when that was too much. */
  readonly taken: number;
  readonly resetsInMs: number;
}

/**
 * Counts what API keys take, in fixed windows that start with the first request. While Redis is away each process
 * counts in its own memory: nothing that needs Redis is served then, but nobody gets past the limit either.
 */
export function createRedisAllowanceStore(redis: RedisClient, { count, windowMs }: Allowance) {
  const window = { points: count, duration: windowMs / 1_000, keyPrefix: '' };
  const limiter = new RateLimiterRedis({
    ...window,
    storeClient: redis,
    rejectIfRedisNotReady: true,
    insuranceLimiter: new RateLimiterMemory(window),
  });

  return {
    async take(apiKeyId: string, points: number): Promise<Usage> {
      // Unlike `consume` it says by how much the limit was passed, instead of throwing.
      const { consumedPoints, msBeforeNext } = await limiter.penalty(keys.rateLimit(apiKeyId), points);
      return { taken: consumedPoints, resetsInMs: msBeforeNext };
    },
  };
}

export type AllowanceStore = ReturnType<typeof createRedisAllowanceStore>;
