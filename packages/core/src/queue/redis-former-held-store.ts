import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../kernel/clock';
import type { RedisClient } from '../kernel/redis-connect';
import { defineScript } from '../kernel/redis-script';
import type { EndpointId } from '../model/endpoint';
import type { EventId } from '../model/event';

/** A delivery that the version before this one held. */
export interface FormerHeld {
  /** As it is in the index: the event's id, and which of the delivery's two jobs came next. */
  readonly member: string;
  readonly eventId: EventId;
  readonly acceptedAt: number;
}

/** A sorted set of its endpoint, by time of acceptance. */
const parkedKey = (endpointId: EndpointId) => `parked:{${endpointId}}`;
/** Who is just releasing some of them: a hash of its token, a space, and until when. Whoever holds one anew voids it. */
const claimsKey = (endpointId: EndpointId) => `claims:{${endpointId}}`;
const CLAIM_MS = 10_000;

// KEYS: what is held, claims. ARGV: now, token, how long a claim holds, what to claim. Gives what is claimed.
const CLAIM = defineScript(`
  local claimed, now = {}, tonumber(ARGV[1])
  for i = 4, #ARGV do
    local held_until = string.match(redis.call('HGET', KEYS[2], ARGV[i]) or '', '%d+$')
    if redis.call('ZSCORE', KEYS[1], ARGV[i]) and tonumber(held_until or '0') <= now then
      redis.call('HSET', KEYS[2], ARGV[i], ARGV[2] .. ' ' .. string.format('%d', now + tonumber(ARGV[3])))
      table.insert(claimed, ARGV[i])
    end
  end
  if #claimed > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
  return claimed`);

// KEYS: what is held, claims. ARGV: token, what has a job now.
const LET_GO = defineScript(`
  for i = 2, #ARGV do
    if string.match(redis.call('HGET', KEYS[2], ARGV[i]) or '', '^%S+') == ARGV[1] then
      redis.call('HDEL', KEYS[2], ARGV[i])
      redis.call('ZREM', KEYS[1], ARGV[i])
    end
  end`);

const claimedSchema = z.array(z.string());

/** What the version before this one held, while processes of it may still hold and release. */
export function createRedisFormerHeldStore(redis: RedisClient, clock: Clock) {
  const bothKeys = (endpointId: EndpointId) => [parkedKey(endpointId), claimsKey(endpointId)];

  return {
    async hasHeld(endpointId: EndpointId): Promise<boolean> {
      return (await redis.exists(parkedKey(endpointId))) === 1;
    },

    /** The longest waiting first. */
    async list(endpointId: EndpointId, offset: number, limit: number): Promise<readonly FormerHeld[]> {
      const last = offset + limit - 1;
      return pairsOf(await redis.zrange(parkedKey(endpointId), String(offset), String(last), 'WITHSCORES'));
    },

    /** Those of them that nobody else is releasing, which nobody else releases for the time being. */
    async claim(
      endpointId: EndpointId,
      wanted: readonly FormerHeld[],
    ): Promise<{ readonly held: readonly FormerHeld[]; readonly token: string }> {
      const token = randomUUID();
      const args = [clock(), token, CLAIM_MS, ...wanted.map(({ member }) => member)];
      const claimed = new Set(claimedSchema.parse(await CLAIM(redis, bothKeys(endpointId), args)));
      return { held: wanted.filter(({ member }) => claimed.has(member)), token };
    },

    /** Others may claim them again at once. */
    async giveBack(endpointId: EndpointId, held: readonly FormerHeld[]): Promise<void> {
      if (held.length > 0) await redis.hdel(claimsKey(endpointId), ...held.map(({ member }) => member));
    },

    /** Those that have a job now, unless they were held anew since they were claimed. */
    async letGo(endpointId: EndpointId, held: readonly FormerHeld[], token: string): Promise<void> {
      await LET_GO(redis, bothKeys(endpointId), [token, ...held.map(({ member }) => member)]);
    },
  };
}

export type FormerHeldStore = ReturnType<typeof createRedisFormerHeldStore>;

function pairsOf(page: readonly string[]): FormerHeld[] {
  const held: FormerHeld[] = [];
  for (let i = 0; i + 1 < page.length; i += 2) {
    const member = page[i] ?? '';
    const [eventId = ''] = member.split(' ');
    held.push({ member, eventId: eventId as EventId, acceptedAt: Number(page[i + 1]) });
  }
  return held;
}
