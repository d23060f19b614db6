import { Cluster } from 'ioredis';
import type { RedisClient } from '../kernel/redis-connect';
import { withStorageErrors } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import type { EndpointId } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';
import { keys } from '../model/keys';

/** An event that a list has let go of. */
export interface LetGo {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  /** Whose list it was; none: the account's own. */
  readonly endpointId: EndpointId | undefined;
}

// KEYS: event and receivers of each. ARGV: the endpoint of each, or ''. Gives what each event has taken up, 0 for those that
// stay: they went to somebody whose list has them still, or whose delivery is not at its end.
const RELEASE = defineScript(`
  local freed = {}
  for i = 1, #ARGV do
    local event, receivers = KEYS[2 * i - 1], KEYS[2 * i]
    if ARGV[i] ~= '' then redis.call('ZREM', receivers, ARGV[i]) end
    freed[i] = 0
    if redis.call('EXISTS', receivers) == 0 then
      freed[i] = redis.call('STRLEN', event)
      redis.call('UNLINK', event)
    end
  end
  return freed`);

/** Lets go of events' bodies once no list has them. */
export function createRedisEventRelease(redis: RedisClient) {
  // In a Cluster each event has a slot of its own.
  const areTogether = !(redis instanceof Cluster);

  async function releaseTogether(some: readonly LetGo[]): Promise<number[]> {
    const eventKeys = some.flatMap(({ accountId, eventId }) => [
      keys.event(accountId, eventId),
      keys.receivers(accountId, eventId),
    ]);
    const endpointIds = some.map(({ endpointId = '' }) => endpointId);
    return (await RELEASE(redis, eventKeys, endpointIds)) as number[];
  }

  return withStorageErrors({
    /** For each, in the same order, how many bytes its body has taken up, if it is gone now. Harmless when repeated. */
    async release(some: readonly LetGo[]): Promise<readonly number[]> {
      if (areTogether) return await releaseTogether(some);
      return (await Promise.all(some.map((one) => releaseTogether([one])))).flat();
    },
  });
}

export type EventRelease = ReturnType<typeof createRedisEventRelease>;
