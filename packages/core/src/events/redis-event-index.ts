import type { RedisClient } from '../redis/redis-connect';
import type { EventId } from './event';

/** How long and how much is kept. */
export interface Retention {
  readonly ageMs: number;
  /** Events that one index keeps: the newest. */
  readonly count: number;
}

/** An event's place in an index. */
export interface EventMark {
  readonly eventId: EventId;
  /** When it was accepted. Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

/** Accepted from `since` on, and before `until`. Milliseconds since the Unix epoch. */
export interface TimeRange {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface MarkPage {
  /** Newest first. */
  readonly marks: readonly EventMark[];
  readonly nextCursor: EventMark | undefined;
}

// More than one at a time, so that an index shrinks when the retention was made smaller; a few, so that Redis is not
// held up by it.
const PRUNED_AT_ONCE = 10;

// KEYS: index. ARGV: time, event, what is older goes, how many stay, how long all of it stays, what the keys of the logs
// begin with (empty: there are none). A log that ends with when
// the next attempt is due, or with when another one was asked for, is of use still.
const ADD = `
  redis.call('ZADD', KEYS[1], 'NX', ARGV[1], ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  local function forget(event)
    redis.call('ZREM', KEYS[1], event)
    if ARGV[6] == '' then return end
    local log = ARGV[6] .. event
    local tail = redis.call('GETRANGE', log, -24, -1)
    if tail ~= '' and not string.find(tail, '"[rt]":%d+}\\n$') then redis.call('UNLINK', log) end
  end
  local excess = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[4])
  for _ = 1, ${PRUNED_AT_ONCE} do
    local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
    if not oldest[1] then return end
    if excess <= 0 and tonumber(oldest[2]) >= tonumber(ARGV[3]) then return end
    forget(oldest[1])
    excess = excess - 1
  end`;

/**
 * Puts an event into an index; doing it again changes nothing. Pruned where it grows, so that no index needs a sweep.
 *
 * @param logPrefix what the keys of the deliveries' logs begin with, in the same slot as the index: a log of a delivery
 *   that has ended goes together with its place.
 */
export async function addToIndex(
  redis: RedisClient,
  key: string,
  { eventId, createdAt }: EventMark,
  { ageMs, count }: Retention,
  logPrefix = '',
): Promise<void> {
  const args = [createdAt, eventId, createdAt - ageMs, count, ageMs, logPrefix].map(String);
  await redis.eval(ADD, 1, key, ...args);
}

/** `before` is the `nextCursor` of the page before. */
export async function readIndex(
  redis: RedisClient,
  key: string,
  limit: number,
  { since, until }: TimeRange = {},
  before?: EventMark,
): Promise<MarkPage> {
  const max = highest(until, before);
  const found = await readMarks(redis, key, [max, String(since ?? '-inf')], limit + 1, before);
  const marks = found.slice(0, limit);
  return { marks, nextCursor: found.length > limit ? marks.at(-1) : undefined };
}

function highest(until: number | undefined, before: EventMark | undefined): string {
  if (before !== undefined && (until === undefined || before.createdAt < until))
    return String(before.createdAt);
  return until === undefined ? '+inf' : `(${until}`;
}

// Those of one millisecond are ordered by id, so a page can end within a millisecond: the next one starts at
// that millisecond again and skips what was already shown.
async function readMarks(
  redis: RedisClient,
  key: string,
  [max, min]: readonly [string, string],
  count: number,
  before?: EventMark,
): Promise<EventMark[]> {
  const marks: EventMark[] = [];
  for (let offset = 0; marks.length < count; offset += count) {
    const flat = await redis.zrevrangebyscore(key, max, min, 'WITHSCORES', 'LIMIT', offset, count);
    const found = toMarks(flat);
    marks.push(...found.filter((mark) => before === undefined || isBefore(mark, before)));
    if (found.length < count) break;
  }
  return marks.slice(0, count);
}

function toMarks(flat: readonly string[]): EventMark[] {
  const marks: EventMark[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    marks.push({ eventId: flat[i] as EventId, createdAt: Number(flat[i + 1]) });
  }
  return marks;
}

function isBefore(one: EventMark, other: EventMark): boolean {
  return (
    one.createdAt < other.createdAt || (one.createdAt === other.createdAt && one.eventId < other.eventId)
  );
}
