import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId, EventId } from '../events/event';
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

/** Deliveries that one caller may release, and nobody else for the time being. */
export interface Claim {
  readonly parked: readonly Parked[];
  readonly token: string;
  /** Whether more are parked: those beyond the limit, or claimed by another. */
  readonly hasMore: boolean;
}

/** After this a claim whose worker died is void. A release takes milliseconds. */
export const CLAIM_MS = 10_000;

// More than one at a time, so that they become fewer again.
const LOOKED_AT_ONCE = 10;

// KEYS: parked, claims. ARGV: the delivery, the same for its other job, time of acceptance, the oldest that is surely kept.
// Gives some of those that are older.
const PARK = `
  redis.call('HDEL', KEYS[2], ARGV[1], ARGV[2])
  redis.call('ZREM', KEYS[1], ARGV[2])
  redis.call('ZADD', KEYS[1], 'NX', ARGV[3], ARGV[1])
  return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[4], 'LIMIT', 0, ${LOOKED_AT_ONCE})`;

// A claim is written as its token and when it ends. KEYS: parked, claims. ARGV: now, token, how long it holds, how many,
// the only one that is wanted ('' for the longest waiting). Gives whether there are more, and those that are claimed.
const CLAIM = `
  local now, limit, only, held = tonumber(ARGV[1]), tonumber(ARGV[4]), ARGV[5], 0
  local claims = redis.call('HGETALL', KEYS[2])
  local is_claimed = {}
  for i = 1, #claims, 2 do
    if tonumber(string.match(claims[i + 1], '%d+$')) > now then
      is_claimed[claims[i]] = true
      held = held + 1
    else
      redis.call('HDEL', KEYS[2], claims[i])
    end
  end
  local candidates = redis.call('ZRANGE', KEYS[1], 0, limit + held - 1)
  if only ~= '' then candidates = redis.call('ZSCORE', KEYS[1], only) and {only} or {} end
  local found = {}
  for _, member in ipairs(candidates) do
    if #found < limit and not is_claimed[member] then
      redis.call('HSET', KEYS[2], member, ARGV[2] .. ' ' .. string.format('%d', now + tonumber(ARGV[3])))
      table.insert(found, member)
    end
  end
  if #found > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
  return {redis.call('ZCARD', KEYS[1]) > #found and 1 or 0, unpack(found)}`;

// KEYS: parked, claims. ARGV: token, the deliveries.
const FORGET = `
  for i = 2, #ARGV do
    if string.match(redis.call('HGET', KEYS[2], ARGV[i]) or '', '^%S+') == ARGV[1] then
      redis.call('HDEL', KEYS[2], ARGV[i])
      redis.call('ZREM', KEYS[1], ARGV[i])
    end
  end`;

/** The deliveries that wait at endpoints' gates, in the order in which their events were accepted. */
export function createRedisParkedStore(redis: RedisClient, { retentionMs, clock }: ParkedStoreOptions) {
  const run = (script: string, endpointId: EndpointId, ...values: readonly (string | number)[]) =>
    redis.eval(script, 2, keys.parked(endpointId), keys.claims(endpointId), ...values.map(String));

  async function claim(endpointId: EndpointId, limit: number, only = ''): Promise<Claim> {
    const token = randomUUID();
    const reply = await run(CLAIM, endpointId, clock(), token, CLAIM_MS, limit, only);
    const [hasMore, ...members] = claimSchema.parse(reply);
    return { parked: members.map(decodeParked), token, hasMore: hasMore === 1 };
  }

  async function findParked(
    endpointId: EndpointId,
    eventIds: readonly EventId[],
  ): Promise<ReadonlySet<EventId>> {
    if (eventIds.length === 0) return new Set();
    const candidates = eventIds.flatMap((eventId) => jobSides.map((side) => ({ eventId, side })));
    const scores = await redis.zmscore(keys.parked(endpointId), ...candidates.map(encodeParked));
    return new Set(candidates.filter((_, i) => scores[i] !== null).map(({ eventId }) => eventId));
  }

  return withStorageErrors({
    /**
     * Parking the same one again changes nothing. It is in the index once, for one of its jobs, so that it is never
     * released for both.
     *
     * @returns some of those that were accepted longer ago than events are kept: see `dropExpired`.
     */
    async park(endpointId: EndpointId, parked: Parked, acceptedAt: number): Promise<readonly Parked[]> {
      const other = encodeParked({ ...parked, side: otherSide(parked.side) });
      const reply = await run(
        PARK,
        endpointId,
        encodeParked(parked),
        other,
        acceptedAt,
        clock() - retentionMs,
      );
      return membersSchema.parse(reply).map(decodeParked);
    },

    /**
     * Those whose events are gone make room. Their age alone does not tell: an event is kept from when it was taken off the
     * queue, which may be long after its acceptance.
     */
    async dropExpired(accountId: AccountId, endpointId: EndpointId, old: readonly Parked[]): Promise<void> {
      const counts = await Promise.all(
        old.map(({ eventId }) => redis.exists(keys.event(accountId, eventId))),
      );
      const gone = old.filter((_, i) => counts[i] === 0).map(encodeParked);
      if (gone.length > 0) await redis.zrem(keys.parked(endpointId), ...gone);
    },

    /**
     * The longest waiting first. They stay until `forget` is told that they are on the queue, but nobody else gets them
     * meanwhile: released a second time when it has run and is parked anew already, a delivery would be sent twice.
     */
    claimParked: (endpointId: EndpointId, limit: number) => claim(endpointId, limit),

    /** This one alone; nothing when it is not parked, or claimed by another. */
    claimOne: (endpointId: EndpointId, parked: Parked) => claim(endpointId, 1, encodeParked(parked)),

    /** Those of a claim, unless they were parked anew since. */
    async forget(endpointId: EndpointId, { parked, token }: Omit<Claim, 'hasMore'>): Promise<void> {
      if (parked.length > 0) await run(FORGET, endpointId, token, ...parked.map(encodeParked));
    },

    async countParked(endpointId: EndpointId): Promise<number> {
      return await redis.zcard(keys.parked(endpointId));
    },

    async isParked(endpointId: EndpointId, eventId: EventId): Promise<boolean> {
      return (await findParked(endpointId, [eventId])).has(eventId);
    },

    /** Which of these are parked. */
    findParked,
  });
}

const membersSchema = z.array(z.string());
const claimSchema = z.tuple([z.number()], z.string());

export type ParkedStore = ReturnType<typeof createRedisParkedStore>;
