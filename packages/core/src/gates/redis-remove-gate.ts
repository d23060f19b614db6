import type { EndpointId } from '../endpoints/endpoint';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';

/** Forgets all that the gate of a deleted endpoint consisted of. */
export function createRedisRemoveGate(redis: RedisClient) {
  return withStorageErrors({
    async removeGate(endpointId: EndpointId): Promise<void> {
      await redis.unlink(keys.breaker(endpointId), keys.parked(endpointId));
    },
  }).removeGate;
}

export type RemoveGate = ReturnType<typeof createRedisRemoveGate>;
