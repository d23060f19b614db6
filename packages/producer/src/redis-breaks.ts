import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis-connection';

/** Counts how often a client's connections have broken, in a Cluster those to all its nodes. */
export class ConnectionBreaks {
  count = 0;

  constructor(redis: RedisClient) {
    if (redis instanceof Cluster) {
      for (const node of redis.nodes('all')) this.#watch(node);
      redis.on('+node', (node: Redis) => this.#watch(node));
    } else this.#watch(redis);
  }

  #watch(node: Redis): void {
    node.on('close', () => {
      this.count += 1;
    });
  }
}
