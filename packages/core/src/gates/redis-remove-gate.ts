import type { EndpointId } from '../endpoints/endpoint';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';

/** Forgets all that the gate of a deleted endpoint consisted of. */
export function createRedisRemoveGate(redis: RedisClient) {
  return withStorageErrors({
    async removeGate(endpointId: EndpointId): Promise<void> {
      const parts = [keys.breaker, keys.parked, keys.claims, keys.permits, keys.turn];
      await redis.unlink(...parts.map((keyOf) => keyOf(endpointId)));
    },
  }).removeGate;
}

export type RemoveGate = ReturnType<typeof createRedisRemoveGate>;
