import type { RedisClient } from '../kernel/redis-connect';
import { withStorageErrors } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import { type Mark, readTimeline } from '../kernel/redis-timeline';
import type { AccountId } from '../model/event';
import { keys } from '../model/keys';
import {
  type Exchange,
  exchangeSchema,
  type PortalPage,
  type PortalSession,
  portalPageSchema,
  portalSessionSchema,
} from '../model/portal-session';

/** A session as it is found: `exchange` once its code was exchanged. */
export type FoundSession = PortalSession & { readonly exchange?: Exchange };

export interface PortalSessionPage {
  readonly sessions: readonly FoundSession[];
  readonly nextCursor: Mark | undefined;
}

// KEYS: portal-session-ids. ARGV: id, when it ends, now, how many there may be.
const ENLIST = defineScript(`
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
  local is_new = not redis.call('ZSCORE', KEYS[1], ARGV[1])
  if is_new and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  redis.call('PEXPIREAT', KEYS[1], redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2])
  return 1`);

// KEYS: portal-session. ARGV: the session, its page, when it ends.
const SAVE = defineScript(`
  redis.call('HSET', KEYS[1], 'session', ARGV[1], 'page', ARGV[2])
  redis.call('PEXPIREAT', KEYS[1], ARGV[3])`);

// KEYS: portal-session. ARGV: the exchange. One that is revoked meanwhile must not leave anything behind.
const EXCHANGE = defineScript(`
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  return redis.call('HSETNX', KEYS[1], 'exchange', ARGV[1])`);

/**
 * Sessions are found by their id alone, before it is known whose they are, so a session's record and its account's list are
 * apart. The list is written first and left last: what it names without a record is passed over. All of it lapses by itself.
 */
export function createRedisPortalSessionStore(redis: RedisClient) {
  return withStorageErrors({
    /** Whether there was room for it: of an account at most `limit` are there at a time. Once more changes nothing. */
    async save(session: PortalSession, page: PortalPage, limit: number, now: number): Promise<boolean> {
      const { id, accountId, expiresAt } = session;
      const listKeys = [keys.portalSessionIds(accountId)];
      if ((await ENLIST(redis, listKeys, [id, expiresAt, now, limit])) === 0) return false;
      const record = [JSON.stringify(session), JSON.stringify(page), expiresAt];
      await SAVE(redis, [keys.portalSession(id)], record);
      return true;
    },

    /** Always read from Redis, so that a revoked session counts for nothing that starts after it. */
    find,

    /** Whether it is the first exchange of a session that is still there. */
    async exchange(id: string, exchange: Exchange): Promise<boolean> {
      return (await EXCHANGE(redis, [keys.portalSession(id)], [JSON.stringify(exchange)])) === 1;
    },

    async readPage(id: string): Promise<PortalPage> {
      const raw = await redis.hget(keys.portalSession(id), 'page');
      return raw === null ? {} : portalPageSchema.parse(JSON.parse(raw));
    },

    /** Whether it was there. */
    async remove({ id, accountId }: Pick<PortalSession, 'id' | 'accountId'>): Promise<boolean> {
      const removed = await redis.unlink(keys.portalSession(id));
      await redis.zrem(keys.portalSessionIds(accountId), id);
      return removed > 0;
    },

    /** Those that last longest first, of those that have not ended by `now`; `after` is the `nextCursor` of the page before. */
    async list(accountId: AccountId, now: number, limit: number, after?: Mark): Promise<PortalSessionPage> {
      const marks = await readTimeline(redis, keys.portalSessionIds(accountId), {
        order: 'newest_first',
        range: { since: now + 1 },
        limit: limit + 1,
        after,
      });
      const shown = marks.slice(0, limit);
      const sessions = await Promise.all(shown.map(({ id }) => find(id)));
      return {
        sessions: sessions.filter((session) => session !== undefined),
        nextCursor: marks.length > limit ? shown.at(-1) : undefined,
      };
    },
  });

  async function find(id: string): Promise<FoundSession | undefined> {
    const [session, exchange] = await redis.hmget(keys.portalSession(id), 'session', 'exchange');
    if (session == null) return undefined;
    const found = portalSessionSchema.parse(JSON.parse(session));
    return exchange == null ? found : { ...found, exchange: exchangeSchema.parse(JSON.parse(exchange)) };
  }
}

export type PortalSessionStore = ReturnType<typeof createRedisPortalSessionStore>;
