import type { KeptId, MovedId, MovedIds } from '../events/redis-moved-ids';
import type { RedisClient } from '../platform/redis-connect';
import { rowsAsOne } from '../platform/redis-rows';

/** As a mover does when an event leaves Redis. */
export async function keepMovedId(
  client: RedisClient,
  movedIds: MovedIds,
  { accountId, eventId, movedId }: Pick<KeptId, 'accountId' | 'eventId'> & { readonly movedId: MovedId },
  now: number,
): Promise<void> {
  const kept: KeptId = { accountId, eventId, movedId, acceptedAt: movedId.acceptedAt };
  await rowsAsOne(client)([kept], [(rows, target) => movedIds.keep(rows, now, target)]);
}
