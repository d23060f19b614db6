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
import { type Mark, readTimeline } from '../platform/redis-timeline';
import { newFields } from './audit/field-changes';
import { makeChange, type Recorded } from './audit/redis-recorded-change';
import {
  exchangePortalSession,
  listPortalSession,
  removePortalSession,
  savePortalSession,
  unlistPortalSession,
} from './redis-portal-session-store.script';

/** A session as stored: with `exchange` once its code was exchanged. */
export type FoundSession = PortalSession & { readonly exchange?: Exchange };

export interface PortalSessionPage {
  readonly sessions: readonly FoundSession[];
  readonly nextCursor: Mark | undefined;
}

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
    const counted = { field: usageFieldOf(session), bytes, keptMs };
    const listed = { account: accountId, id, endsAt: expiresAt, now, most: limit, ...counted };
    if (!(await listPortalSession(listed)(this.redis))) return false;
    const record = { session: JSON.stringify(session), page: JSON.stringify(page), endsAt: expiresAt };
    const { label, capabilities } = session;
    const changes = newFields({ label, capabilities, expiresAt: formatTime(expiresAt) });
    await makeChange(this.redis, savePortalSession({ id, ...record }), recordedOf(act, session, changes));
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
    const exchanged = exchangePortalSession({ id: session.id, exchange: JSON.stringify(exchange) });
    return await makeChange(this.redis, exchanged, recordedOf(act, session));
  }

  async readPage(id: string): Promise<PortalPage> {
    const raw = await this.redis.hget(keys.portalSession(id), 'page');
    return raw === null ? {} : portalPageSchema.parse(JSON.parse(raw));
  }

  /** Give whether it existed. */
  async remove(session: PortalSession, act?: Act): Promise<boolean> {
    const { id, accountId, bytes = 0 } = session;
    const removed = await makeChange(this.redis, removePortalSession({ id }), recordedOf(act, session));
    await unlistPortalSession({ account: accountId, id, field: usageFieldOf(session), bytes })(this.redis);
    return removed;
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
