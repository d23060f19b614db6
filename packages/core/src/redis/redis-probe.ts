import { setTimeout as wait } from 'node:timers/promises';
import type { RedisClient } from './redis-connect';

const PATIENCE_MS = 1_000;

/** Whether Redis answers within a second. Never rejects, and never waits longer. */
export function createRedisProbe(redis: RedisClient): () => Promise<boolean> {
  return async () => {
    const patience = new AbortController();
    const answered = redis.ping().then(
      () => true,
      () => false,
    );
    const ranOut = wait(PATIENCE_MS, false, { signal: patience.signal }).catch(() => false);
    const reachable = await Promise.race([answered, ranOut]);
    patience.abort();
    return reachable;
  };
}
