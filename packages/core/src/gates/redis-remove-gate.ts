import type { EndpointId } from '../endpoints/endpoint';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';

/** All that an endpoint's gate consists of. */
export function keysOfGate(endpointId: EndpointId): readonly string[] {
  const parts = [keys.breaker, keys.parked, keys.claims, keys.permits, keys.turn];
  return parts.map((keyOf) => keyOf(endpointId));
}

/** Forgets all that the gate of a deleted endpoint consisted of. */
export function createRedisRemoveGate(redis: RedisClient) {
  return withStorageErrors({
    async removeGate(endpointId: EndpointId): Promise<void> {
      await redis.unlink(...keysOfGate(endpointId));
    },
  }).removeGate;
}

export type RemoveGate = ReturnType<typeof createRedisRemoveGate>;
