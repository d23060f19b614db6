import { keys } from '../domain/keys';
import type { Emit } from '../domain/signal';
import { createNewId } from '../platform/ids';
import { createAtomic } from '../platform/redis-atomic';
import { RedisClock } from '../platform/redis-clock';
import { RedisConfirmation } from '../platform/redis-confirmation';
import {
  type ConnectionRole,
  type ConnectOptions,
  connectRedis,
  queuePrefix,
  type RedisClient,
} from '../platform/redis-connect';
import { ConnectionHealth } from '../platform/redis-keeper';
import { RedisProbe } from '../platform/redis-probe';
import { watchRedisSafety } from '../platform/redis-safety';
import { LayoutStore } from '../queue/redis-layout-store';
import { ShardsInForce } from '../queue/shards-in-force';
import type { StoreSettings } from './store-settings';

export interface ProcessOptions {
  readonly config: StoreSettings;
  readonly role: ConnectionRole;
  /** For the log and for Redis' `CLIENT LIST`. */
  readonly name: string;
  /** How many replicas must have what it has written before it says so. Default: none. */
  readonly confirmedBy?: number;
  readonly emit: Emit;
}

export interface ProcessConnection extends ConnectOptions {
  readonly health: ConnectionHealth;
  readonly emit: Emit;
}

/** Why a process can't serve now: `/readyz` shows it. */
export interface Unready {
  readonly reason: 'stopping' | 'starting' | 'redis_unavailable' | 'redis_refuses_writes' | 'clock_skewed';
  /** For operators. */
  readonly detail: string;
}

/** From the signal on. */
export const STOPPING: Unready = { reason: 'stopping', detail: 'The process was told to stop.' };

/**
 * Open what each process of the service has before its stores: a connection to Redis, its clock, and the shards that all
 * processes use. Clock and shards are not started.
 */
export function openProcess({ config, role, name, confirmedBy = 0, emit }: ProcessOptions) {
  const health = new ConnectionHealth();
  const connection: ProcessConnection = { url: config.REDIS_URL, role, name, health, emit };
  const redis = connectRedis(connection);
  watchRedisSafety(redis, emit);
  const redisClock = new RedisClock({ redis, emit });
  const confirmation = openConfirmation(confirmedBy, connection, redis);
  const redisProbe = new RedisProbe({ redis, keyOf: keys.writeCheck, confirmation });
  const clock = redisClock.now;
  const atomic = createAtomic(redis);
  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = new LayoutStore(redis, firstPrefix);
  const wanted = config.QUEUE_SHARDS;
  return {
    /** Its options, for further connections. */
    connection,
    redis,
    /** Absent: no replica has to confirm anything. */
    confirmation,
    redisProbe,
    redisClock,
    /** As far as Redis and the clocks are concerned; `undefined`: it can serve. */
    whyUnready: async (): Promise<Unready | undefined> => {
      const standing = await redisProbe.look();
      if (standing.kind !== 'takes_writes') {
        return { reason: `redis_${standing.kind}`, detail: standing.detail };
      }
      return redisClock.isTrusted ? undefined : { reason: 'clock_skewed', detail: redisClock.describe() };
    },
    /** That of Redis. */
    clock,
    newId: createNewId(clock),
    atomic,
    layoutStore,
    shards: new ShardsInForce({ layoutStore, wanted, firstPrefix, atomic, emit }),
    emit,
  };
}

/** @returns nothing if no replica has to confirm anything. */
export function openConfirmation(
  replicas: number,
  connection: ProcessConnection,
  redis: RedisClient,
): RedisConfirmation | undefined {
  if (replicas === 0) return undefined;
  return new RedisConfirmation({
    redis,
    connection,
    replicas,
    keyOf: keys.writeCheck,
    emit: connection.emit,
  });
}
