import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis-connect';

/** The servers that hold keys, by their addresses: one, unless it is a Cluster. */
export function mastersOf(redis: RedisClient): ReadonlyMap<string, Redis> {
  const masters = redis instanceof Cluster ? redis.nodes('master') : [redis];
  return new Map(masters.map((master) => [`${master.options.host}:${master.options.port}`, master]));
}
