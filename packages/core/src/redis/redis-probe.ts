import { settledWithin } from '../runtime/settled-within';
import type { RedisClient } from './redis-connect';

const PATIENCE_MS = 1_000;

/** Whether Redis answers within a second. Never rejects, and never waits longer. */
export function createRedisProbe(redis: RedisClient): () => Promise<boolean> {
  return async () => {
    let hasAnswered = false;
    const ask = async () => {
      await redis.ping();
      hasAnswered = true;
    };
    await settledWithin(PATIENCE_MS, ask());
    return hasAnswered;
  };
}
