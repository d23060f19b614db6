import type { RedisClient } from '../kernel/redis-connect';

/** What every queue needs to know of Redis. */
export interface QueueConnection {
  readonly redis: RedisClient;
  readonly prefix: string;
}
