import type { RedisClient } from '../redis/redis-connect';
import { defineScript } from '../redis/redis-script';
import { readTimeline, type TimeRange } from '../redis/redis-timeline';
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
const ADD = defineScript(`
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
  end`);

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
  await ADD(redis, [key], [createdAt, eventId, createdAt - ageMs, count, ageMs, logPrefix]);
}

/** Newest first. `before` is the `nextCursor` of the page before. */
export async function readIndex(
  redis: RedisClient,
  key: string,
  limit: number,
  range?: TimeRange,
  before?: EventMark,
): Promise<MarkPage> {
  const after = before && { id: before.eventId, at: before.createdAt };
  const found = await readTimeline(redis, key, { order: 'newest_first', range, limit: limit + 1, after });
  const marks = found.slice(0, limit).map(({ id, at }) => ({ eventId: id as EventId, createdAt: at }));
  return { marks, nextCursor: found.length > limit ? marks.at(-1) : undefined };
}
