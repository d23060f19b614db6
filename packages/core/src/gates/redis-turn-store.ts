import { z } from 'zod';
import type { EndpointId } from '../endpoints/endpoint';
import type { EventId } from '../events/event';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';
import { withStorageErrors } from '../redis/redis-errors';
import { decodeParked, encodeParked, jobSides, type Parked } from './parked';

/** Who is next at an endpoint whose deliveries go one at a time. */
export type NextInTurn =
  | { readonly kind: 'nobody' }
  /** It is somebody's turn, who is under way or waits for its retry. */
  | { readonly kind: 'under_way'; readonly delivery: Parked }
  /** It is the turn of one that is parked, for a reason of another kind. */
  | { readonly kind: 'parked'; readonly delivery: Parked }
  /** It is nobody's turn; this one has waited longest. */
  | { readonly kind: 'first_in_line'; readonly delivery: Parked; readonly acceptedAt: number };

// A turn is held by a delivery, be it parked for its one job or its other. KEYS: turn, parked. ARGV: the two sides.
const FIND_NEXT = `
  local holder = redis.call('GET', KEYS[1])
  if holder then
    local event = string.match(holder, '^%S+')
    for _, side in ipairs(ARGV) do
      local member = event .. ' ' .. side
      if redis.call('ZSCORE', KEYS[2], member) then
        redis.call('SET', KEYS[1], member)
        return {'parked', member, '0'}
      end
    end
    return {'under_way', holder, '0'}
  end
  local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
  if not first[1] then return {'nobody', '', '0'} end
  return {'first_in_line', first[1], first[2]}`;

// KEYS: turn, parked. ARGV: the delivery.
const GIVE = `
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
  if redis.call('ZRANGE', KEYS[2], 0, 0)[1] ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[1])
  return 1`;

// A delivery that was released and has ended may still be in the line, to be taken out any moment. It must not get its
// turn again: the queue would ignore its job, as long as that of its end is there. KEYS: turn, parked. ARGV: the event,
// the two sides.
const PASS = `
  local holder = redis.call('GET', KEYS[1])
  if not holder or string.match(holder, '^%S+') ~= ARGV[1] then return end
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1] .. ' ' .. ARGV[2], ARGV[1] .. ' ' .. ARGV[3])`;

const nextSchema = z.tuple([
  z.enum(['nobody', 'under_way', 'parked', 'first_in_line']),
  z.string(),
  z.coerce.number(),
]);

/** Whose turn it is at endpoints with strict ordering: from its release until it has come to its end. */
export function createRedisTurnStore(redis: RedisClient) {
  const keysOf = (endpointId: EndpointId) => [keys.turn(endpointId), keys.parked(endpointId)] as const;

  return withStorageErrors({
    async findNext(endpointId: EndpointId): Promise<NextInTurn> {
      const reply = await redis.eval(FIND_NEXT, 2, ...keysOf(endpointId), ...jobSides);
      const [kind, member, acceptedAt] = nextSchema.parse(reply);
      if (kind === 'nobody') return { kind };
      const delivery = decodeParked(member);
      return kind === 'first_in_line' ? { kind, delivery, acceptedAt } : { kind, delivery };
    },

    /** Whether it is this one's turn now: not if it is another's, nor if one that comes before it was parked meanwhile. */
    async give(endpointId: EndpointId, delivery: Parked): Promise<boolean> {
      return (await redis.eval(GIVE, 2, ...keysOf(endpointId), encodeParked(delivery))) === 1;
    },

    async isTurnOf(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
      const holder = await redis.get(keys.turn(endpointId));
      return holder !== null && decodeParked(holder).eventId === eventId;
    },

    /** Ends a delivery's turn, if it is its turn. */
    async pass(endpointId: EndpointId, eventId: EventId): Promise<void> {
      await redis.eval(PASS, 2, ...keysOf(endpointId), eventId, ...jobSides);
    },

    /** Ends whoever's turn it is. */
    async clear(endpointId: EndpointId): Promise<void> {
      await redis.del(keys.turn(endpointId));
    },
  });
}

export type TurnStore = ReturnType<typeof createRedisTurnStore>;
