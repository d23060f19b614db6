import type { EndpointId } from '../endpoints/endpoint';
import type { EventId } from '../events/event';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import type { Clock } from '../runtime/clock';
import { decodeParked, encodeParked, jobSides, otherSide, type Parked } from './parked';

export interface ParkedStoreOptions {
  /** How long events are kept. Milliseconds. */
  readonly retentionMs: number;
  readonly clock: Clock;
}

/** The deliveries that wait at endpoints' gates, in the order in which their events were accepted. */
export function createRedisParkedStore(redis: RedisClient, { retentionMs, clock }: ParkedStoreOptions) {
  return withStorageErrors({
    /**
     * Parking the same one again changes nothing. It is in the index once, for one of its jobs, so that it is never
     * released for both. Those whose events are no longer kept make room.
     */
    async park(endpointId: EndpointId, parked: Parked, acceptedAt: number): Promise<void> {
      const key = keys.parked(endpointId);
      await Promise.all([
        redis.zrem(key, encodeParked({ ...parked, side: otherSide(parked.side) })),
        redis.zadd(key, 'NX', acceptedAt, encodeParked(parked)),
        redis.zremrangebyscore(key, '-inf', `(${clock() - retentionMs}`),
      ]);
    },

    /** The longest waiting first. They stay until `forget` is told that they are on the queue. */
    async listParked(endpointId: EndpointId, limit: number): Promise<Parked[]> {
      const members = await redis.zrange(keys.parked(endpointId), '0', String(limit - 1));
      return members.map(decodeParked);
    },

    async forget(endpointId: EndpointId, parked: readonly Parked[]): Promise<void> {
      if (parked.length === 0) return;
      await redis.zrem(keys.parked(endpointId), ...parked.map(encodeParked));
    },

    async countParked(endpointId: EndpointId): Promise<number> {
      return await redis.zcard(keys.parked(endpointId));
    },

    async isParked(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
      const members = jobSides.map((side) => encodeParked({ eventId, side }));
      const scores = await redis.zmscore(keys.parked(endpointId), ...members);
      return scores.some((score) => score !== null);
    },
  });
}

export type ParkedStore = ReturnType<typeof createRedisParkedStore>;
