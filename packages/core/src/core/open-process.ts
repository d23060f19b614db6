import type { Emit } from '../domain/signal';
import { createNewId } from '../platform/ids';
import { createAtomic } from '../platform/redis-atomic';
import { RedisClock } from '../platform/redis-clock';
import { type ConnectionRole, connectRedis, createRedisProbe, queuePrefix } from '../platform/redis-connect';
import { ConnectionHealth } from '../platform/redis-keeper';
import { watchRedisSafety } from '../platform/redis-safety';
import { LayoutStore } from '../queue/redis-layout-store';
import { ShardsInForce } from '../queue/shards-in-force';
import type { StoreSettings } from './store-settings';

export interface ProcessOptions {
  readonly config: StoreSettings;
  readonly role: ConnectionRole;
  /** For the log and for Redis' `CLIENT LIST`. */
  readonly name: string;
  readonly emit: Emit;
}

/**
 * Open what each process of the service has before its stores: a connection to Redis, its clock, and the shards that all
 * processes use. Clock and shards are not started.
 */
export function openProcess({ config, role, name, emit }: ProcessOptions) {
  const health = new ConnectionHealth();
  const connection = { url: config.REDIS_URL, role, name, health, emit };
  const redis = connectRedis(connection);
  watchRedisSafety(redis, emit);
  const redisClock = new RedisClock({ redis, emit });
  const clock = redisClock.now;
  const atomic = createAtomic(redis);
  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = new LayoutStore(redis, firstPrefix);
  const wanted = config.QUEUE_SHARDS;
  return {
    /** Its options, for further connections. */
    connection,
    redis,
    isRedisAnswering: createRedisProbe(redis),
    redisClock,
    /** That of Redis. */
    clock,
    newId: createNewId(clock),
    atomic,
    layoutStore,
    shards: new ShardsInForce({ layoutStore, wanted, firstPrefix, atomic, emit }),
    emit,
  };
}
