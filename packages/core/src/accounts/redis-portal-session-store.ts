import { newFields } from '../audit/field-changes';
import { defineChange, type Recorded } from '../audit/redis-recorded-change';
import {
  type AccountId,
  type Exchange,
  exchangeSchema,
  type PortalPage,
  type PortalSession,
  portalPageSchema,
  portalSessionSchema,
} from '../domain/account';
import type { Act, FieldChange } from '../domain/audit';
import { keys } from '../domain/keys';
import { lapseOfSession } from '../domain/usage';
import { formatTime } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { type Mark, readTimeline } from '../platform/redis-timeline';
import { COUNT_USAGE } from './redis-usage-store';

/** A session as stored: with `exchange` once its code was exchanged. */
export type FoundSession = PortalSession & { readonly exchange?: Exchange };

export interface PortalSessionPage {
  readonly sessions: readonly FoundSession[];
  readonly nextCursor: Mark | undefined;
}

// KEYS: portal-session-ids, usage, used bytes. ARGV: id, when it ends, now, the most sessions; field of
// usage, bytes, how long they are counted.
const ENLIST = defineScript(
  `
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
  local is_new = not redis.call('ZSCORE', KEYS[1], ARGV[1])
  if is_new and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
  if is_new then count_usage(KEYS[2], KEYS[3], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])) end
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  redis.call('PEXPIREAT', KEYS[1], redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2])
  return 1`,
  COUNT_USAGE,
);

// KEYS: portal-session-ids, usage, used bytes. ARGV: id, field of usage, bytes. Leaves no counter of an
// account that may be gone by now.
const DELIST = defineScript(
  `
  if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
  count_usage(KEYS[2], KEYS[3], ARGV[2], -tonumber(ARGV[3]), 0)
  write_usage(KEYS[2])
  if redis.call('HGET', KEYS[2], ARGV[2]) == '0' then redis.call('HDEL', KEYS[2], ARGV[2]) end
  if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('DEL', KEYS[3]) end
  return 1`,
  COUNT_USAGE,
);

// KEYS: portal-session. ARGV: the session, its page, when it ends.
const SAVE = defineChange(
  '1',
  `
  local is_new = redis.call('HGET', KEYS[1], 'session') ~= ARGV[1]
  redis.call('HSET', KEYS[1], 'session', ARGV[1], 'page', ARGV[2])
  redis.call('PEXPIREAT', KEYS[1], ARGV[3])
  if is_new then record_act() end
  return 1`,
);

// KEYS: portal-session.
const REMOVE = defineChange(
  '1',
  `
  if redis.call('UNLINK', KEYS[1]) == 0 then return 0 end
  record_act()
  return 1`,
);

// KEYS: portal-session. ARGV: the exchange. A session that is revoked meanwhile must leave nothing behind.
const EXCHANGE = defineChange(
  '1',
  `
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  if redis.call('HSETNX', KEYS[1], 'exchange', ARGV[1]) == 0 then return 0 end
  record_act()
  return 1`,
);

/**
 * Sessions are found by their id alone, before their account is known, so a session's record and its
 * account's list are apart. The list is written first and removed last: an entry without a record is skipped.
 * Redis lets all of it expire.
 */
export class PortalSessionStore {
  constructor(private readonly redis: RedisClient) {}

  /**
   * Save a session and give whether there was room: an account has at most `limit` at a time. Repeating it
   * changes nothing.
   *
   * @param act absent: it is on no record. Likewise below.
   */
  async save(
    session: PortalSession,
    page: PortalPage,
    limit: number,
    now: number,
    act?: Act,
  ): Promise<boolean> {
    const { id, accountId, expiresAt, bytes = 0 } = session;
    const keptMs = Math.max(lapseOfSession(expiresAt) - now, 1);
    const counted = [usageFieldOf(session), bytes, keptMs];
    if ((await ENLIST(this.redis, listKeysOf(accountId), [id, expiresAt, now, limit, ...counted])) === 0)
      return false;
    const record = [JSON.stringify(session), JSON.stringify(page), expiresAt];
    const { label, capabilities } = session;
    const changes = newFields({ label, capabilities, expiresAt: formatTime(expiresAt) });
    await SAVE(this.redis, [keys.portalSession(id)], record, recordedOf(act, session, changes));
    return true;
  }

  /** Always read from Redis, so that a revoked session is invalid for whatever starts after it. */
  async find(id: string): Promise<FoundSession | undefined> {
    const [session, exchange] = await this.redis.hmget(keys.portalSession(id), 'session', 'exchange');
    if (session == null) return undefined;
    const found = portalSessionSchema.parse(JSON.parse(session));
    return exchange == null ? found : { ...found, exchange: exchangeSchema.parse(JSON.parse(exchange)) };
  }

  /** Give whether it is the first exchange of a session that still exists. */
  async exchange(session: PortalSession, exchange: Exchange, act?: Act): Promise<boolean> {
    const args = [JSON.stringify(exchange)];
    const key = keys.portalSession(session.id);
    return (await EXCHANGE(this.redis, [key], args, recordedOf(act, session))) === 1;
  }

  async readPage(id: string): Promise<PortalPage> {
    const raw = await this.redis.hget(keys.portalSession(id), 'page');
    return raw === null ? {} : portalPageSchema.parse(JSON.parse(raw));
  }

  /** Give whether it existed. */
  async remove(session: PortalSession, act?: Act): Promise<boolean> {
    const { id, accountId, bytes = 0 } = session;
    const removed = await REMOVE(this.redis, [keys.portalSession(id)], [], recordedOf(act, session));
    await DELIST(this.redis, listKeysOf(accountId), [id, usageFieldOf(session), bytes]);
    return removed === 1;
  }

  /**
   * The sessions that have not ended by `now`, those that last longest first; `after` is the `nextCursor` of
   * the page before.
   */
  async list(accountId: AccountId, now: number, limit: number, after?: Mark): Promise<PortalSessionPage> {
    const marks = await readTimeline(this.redis, keys.portalSessionIds(accountId), {
      order: 'newest_first',
      range: { since: now + 1 },
      limit: limit + 1,
      after,
    });
    const shown = marks.slice(0, limit);
    const sessions = await Promise.all(shown.map(({ id }) => this.find(id)));
    return {
      sessions: sessions.filter((session) => session !== undefined),
      nextCursor: marks.length > limit ? shown.at(-1) : undefined,
    };
  }
}

function listKeysOf(accountId: AccountId): string[] {
  return [keys.portalSessionIds(accountId), keys.usage(accountId), keys.usedBytes(accountId)];
}

/** The field that counts it until it ends. */
function usageFieldOf({ expiresAt }: PortalSession): string {
  return `sessions:${lapseOfSession(expiresAt)}`;
}

function recordedOf(
  act: Act | undefined,
  { accountId, id: targetId }: PortalSession,
  changes: readonly FieldChange[] = [],
): Recorded | undefined {
  return act && { act, accountId, targetId, changes };
}
