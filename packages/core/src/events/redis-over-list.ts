import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { formatTime } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';

/** A finished delivery. Without an endpoint: an event that has no deliveries. */
export interface OverEntry {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  readonly endpointId?: EndpointId | undefined;
}

export interface ClaimedEntry extends OverEntry {
  /** When it finished, or counts as finished. Milliseconds since the Unix epoch. */
  readonly overAt: number;
}

/** An entry that the history refuses. */
export interface Aside {
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly reason: string;
}

export interface AsideEntry extends OverEntry, Aside {}

export interface AsidePage {
  readonly entries: readonly AsideEntry[];
  readonly nextCursor: string | undefined;
}

/** Entries that one process moves now. */
export interface OverClaim {
  readonly entries: readonly ClaimedEntry[];
  /** When others may take them. It tells this claim from others, and from entries that came again since. */
  readonly until: number;
}

// KEYS: over. ARGV: which, time, members.
const ADD = defineScript(`for i = 3, #ARGV do redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2], ARGV[i]) end`);
/** Options of ZADD. The first one has no effect here. */
const ALL = 'CH';
const MISSING = 'NX';

// KEYS: over. ARGV: due until, how many, when they are due again. Gives each with when it was due.
const CLAIM = defineScript(`
  local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
  for i = 1, #due, 2 do redis.call('ZADD', KEYS[1], ARGV[3], due[i]) end
  return due`);

// An entry that was added again since then stays. KEYS: over. ARGV: until when they were claimed, then each
// with when it is due again ('' for never). KEYS: over, set aside.
const SETTLE = defineScript(`
  local claimed = tonumber(ARGV[1])
  local is_any_aside = redis.call('EXISTS', KEYS[2]) == 1
  for i = 2, #ARGV, 2 do
    local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
    if score and tonumber(score) == claimed then
      if ARGV[i + 1] == '' then
        redis.call('ZREM', KEYS[1], ARGV[i])
        if is_any_aside then redis.call('HDEL', KEYS[2], ARGV[i]) end
      else redis.call('ZADD', KEYS[1], ARGV[i + 1], ARGV[i]) end
    end
  end`);

// KEYS: over, set aside. ARGV: until when it was claimed, the entry, why.
const SET_ASIDE = defineScript(`
  local score = redis.call('ZSCORE', KEYS[1], ARGV[2])
  if not score or tonumber(score) ~= tonumber(ARGV[1]) then return 0 end
  redis.call('ZREM', KEYS[1], ARGV[2])
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
  return 1`);

// One that was put aside again meanwhile stays. KEYS: over, set aside. ARGV: time, then entries and their values.
const PUT_BACK = defineScript(`
  local count = 0
  for i = 2, #ARGV, 2 do
    if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] then
      redis.call('HDEL', KEYS[2], ARGV[i])
      redis.call('ZADD', KEYS[1], ARGV[1], ARGV[i])
      count = count + 1
    end
  end
  return count`);

// KEYS: the sweep's lease. ARGV: worker, how long.
const LEASE_SWEEP = defineScript(`
  local holder = redis.call('GET', KEYS[1])
  if holder and holder ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1`);

// KEYS: over, set aside. ARGV: entries.
const FORGET = defineScript(`
  redis.call('ZREM', KEYS[1], unpack(ARGV))
  redis.call('HDEL', KEYS[2], unpack(ARGV))`);

const READ_AT_ONCE = 500;

/**
 * The list `over`: finished deliveries that have not moved to the history yet. The script that records the end of a delivery
 * adds it. A process claims some entries at a time. If it dies, they are due again.
 */
export class OverList {
  constructor(private readonly redis: RedisClient) {}

  /** @param at when it finished. An existing entry gets this time. */
  async add(entry: OverEntry, at: number, target: ScriptTarget = this.redis): Promise<void> {
    await ADD(target, [keys.over], [ALL, at, memberOf(entry)]);
  }

  async addAll(entries: readonly OverEntry[], at: number, target: ScriptTarget = this.redis): Promise<void> {
    if (entries.length > 0) await ADD(target, [keys.over], [ALL, at, ...entries.map(memberOf)]);
  }

  /** Add the entries that are missing in the list. */
  async addMissing(entries: readonly OverEntry[], at: number): Promise<void> {
    if (entries.length > 0) await ADD(this.redis, [keys.over], [MISSING, at, ...entries.map(memberOf)]);
  }

  /** Remove entries, also ones that another process has claimed. */
  async forget(entries: readonly OverEntry[]): Promise<void> {
    if (entries.length > 0) await FORGET(this.redis, [keys.over, keys.setAside], entries.map(memberOf));
  }

  /**
   * Claim the entries that finished first.
   *
   * @param overUntil entries that finished later are left out.
   * @param until see `OverClaim`.
   */
  async claim(
    overUntil: number,
    most: number,
    until: number,
    target: ScriptTarget = this.redis,
  ): Promise<OverClaim> {
    const flat = (await CLAIM(target, [keys.over], [overUntil, most, until])) as readonly string[];
    const entries: ClaimedEntry[] = [];
    for (let i = 0; i < flat.length; i += 2) {
      entries.push({ ...entryOf(flat[i] ?? ''), overAt: Number(flat[i + 1]) });
    }
    return { entries, until };
  }

  /**
   * End the claim of some entries. @param overAt the time at which each is due again; `undefined`: it is done. An entry that
   * finished once more since then stays, with its new time. A done entry is removed from those set aside, too, because it
   * was found again since.
   */
  async settle(
    { until }: Pick<OverClaim, 'until'>,
    settled: readonly { readonly entry: OverEntry; readonly overAt: number | undefined }[],
  ): Promise<void> {
    if (settled.length === 0) return;
    const args = settled.flatMap(({ entry, overAt }) => [memberOf(entry), overAt ?? '']);
    await SETTLE(this.redis, [keys.over, keys.setAside], [until, ...args]);
  }

  /**
   * Set an entry aside that the history refuses. Its delivery stays in Redis.
   *
   * @returns whether it was still claimed.
   */
  async setAside(
    { until }: Pick<OverClaim, 'until'>,
    entry: OverEntry,
    { since, reason }: Aside,
  ): Promise<boolean> {
    const args = [until, memberOf(entry), `${formatTime(since)} ${reason}`];
    return (await SET_ASIDE(this.redis, [keys.over, keys.setAside], args)) === 1;
  }

  async countAside(): Promise<number> {
    return await this.redis.hlen(keys.setAside);
  }

  /** Some of the entries set aside, in no order. @param cursor the `nextCursor` of the page before. */
  async listAside(cursor?: string): Promise<AsidePage> {
    const { entries, nextCursor } = await this.#scanAside(cursor);
    return {
      entries: entries.map(([member, value]) => ({ ...entryOf(member), ...asideOf(value) })),
      nextCursor,
    };
  }

  /**
   * Put back the entries that were set aside until now, so that they are tried again. Entries that are refused again meanwhile
   * stay aside.
   *
   * @param now milliseconds since the Unix epoch.
   * @param tell how many were put back so far.
   * @returns how many were put back.
   */
  async putBackAside(now: number, tell: (count: number) => void = () => {}): Promise<number> {
    let count = 0;
    let cursor: string | undefined;
    do {
      const { entries, nextCursor } = await this.#scanAside(cursor);
      const earlier = entries.filter(([, value]) => asideOf(value).since <= now);
      if (earlier.length > 0) {
        count += Number(await PUT_BACK(this.redis, [keys.over, keys.setAside], [now, ...earlier.flat()]));
        tell(count);
      }
      cursor = nextCursor;
    } while (cursor !== undefined);
    return count;
  }

  async #scanAside(cursor = '0') {
    const [next, flat] = await this.redis.hscan(keys.setAside, cursor, 'COUNT', READ_AT_ONCE);
    const entries = flat.flatMap((member, i) => (i % 2 === 0 ? [[member, flat[i + 1] ?? ''] as const] : []));
    return { entries, nextCursor: next === '0' ? undefined : next };
  }

  /** Whether this worker may search for finished deliveries that the list lacks, for this long. */
  async leaseSweep(workerId: string, forMs: number): Promise<boolean> {
    return (await LEASE_SWEEP(this.redis, [keys.historySweep], [workerId, forMs])) === 1;
  }

  async count(): Promise<number> {
    return await this.redis.zcard(keys.over);
  }

  /** When the entry that has waited longest finished. Milliseconds since the Unix epoch. */
  async oldest(): Promise<number | undefined> {
    const [, score] = await this.redis.zrange(keys.over, '0', '0', 'WITHSCORES');
    return score === undefined ? undefined : Number(score);
  }
}

// None of the ids has a slash or a dot.
function memberOf({ accountId, eventId, endpointId = '' as EndpointId }: OverEntry): string {
  return `${accountId}/${eventId}.${endpointId}`;
}

function entryOf(member: string): OverEntry {
  const slash = member.indexOf('/');
  const dot = member.indexOf('.', slash);
  const endpointId = member.slice(dot + 1) as EndpointId;
  return {
    accountId: member.slice(0, slash) as AccountId,
    eventId: member.slice(slash + 1, dot) as EventId,
    ...(endpointId === '' ? {} : { endpointId }),
  };
}

function asideOf(value: string): Aside {
  const space = value.indexOf(' ');
  return { since: Date.parse(value.slice(0, space)), reason: value.slice(space + 1) };
}
