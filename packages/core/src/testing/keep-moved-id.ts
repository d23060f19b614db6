import type { KeptId, MovedIds } from '../events/redis-moved-ids';
import type { RedisClient } from '../platform/redis-connect';

/** As a mover does when an event leaves Redis. */
export async function keepMovedId(
  client: RedisClient,
  movedIds: MovedIds,
  kept: KeptId,
  now: number,
): Promise<void> {
  await movedIds.keep(kept, now)(client);
}
