import { answerWithin } from './answer-within';
import type { RedisClient } from './redis-connect';

const PATIENCE_MS = 1_000;

/** Whether Redis answers within a second. Never rejects, and never waits longer. */
export function createRedisProbe(redis: RedisClient): () => Promise<boolean> {
  return async () => (await answerWithin(PATIENCE_MS, redis.ping())) !== undefined;
}
