import { COUNT_USAGE } from '../accounts/redis-usage-store';
import type { EventId } from '../domain/event';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';
import { readTimeline, type TimeRange } from '../platform/redis-timeline';

/** How long and how many events are kept. */
export interface Retention {
  readonly ageMs: number;
  /** The number of events that one index keeps, the newest. */
  readonly count: number;
}

/** An event's position in an index. */
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

// More than one at a time, so that an index shrinks when the retention was reduced. Few, so that Redis is not
// held up.
const PRUNED_AT_ONCE = 10;

/** An event that was pruned from an index. */
export interface Pruned extends EventMark {
  /** The bytes of its delivery's log, if that was removed as well: the delivery had ended. */
  readonly logBytes: number | undefined;
}

/** The usage to count for the account together with a new entry. The keys are in the index' slot. */
export interface CountedEntry {
  readonly usageKey: string;
  readonly usedBytesKey: string;
  /** The fields and bytes to count. */
  readonly fields: readonly { readonly field: string; readonly bytes: number }[];
  readonly keptMs: number;
}

const NO_LOG_GONE = -1;

// KEYS: index, then usage and used bytes if something is to be counted. ARGV: time, event, entries older than
// this are removed, how many stay, how long all of it is kept, the prefix of the logs' keys (empty: no logs),
// how long the usage counts, then its fields and bytes. A log that ends with the time of the next attempt, or
// with a request, is still needed. Scripts that run as one look for old entries once. Gives the removed entries, each with its time and the bytes of its log.
const ADD = defineScript(
  `
  local is_new = redis.call('ZADD', KEYS[1], 'NX', ARGV[1], ARGV[2]) == 1
  at_end('expire ' .. KEYS[1], function() redis.call('PEXPIRE', KEYS[1], ARGV[5]) end)
  if is_new and KEYS[2] then
    for i = 8, #ARGV, 2 do count_usage(KEYS[2], KEYS[3], ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[7])) end
  end
  local pruned = {}
  local excess = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[4])
  if excess <= 0 and once['pruned ' .. KEYS[1]] then return pruned end
  once['pruned ' .. KEYS[1]] = true
  local function forget(event)
    redis.call('ZREM', KEYS[1], event)
    if ARGV[6] == '' then return ${NO_LOG_GONE} end
    local log = ARGV[6] .. event
    local tail = redis.call('GETRANGE', log, -24, -1)
    if tail == '' or string.find(tail, '"[rt]":%d+}\\n$') then return ${NO_LOG_GONE} end
    local bytes = redis.call('STRLEN', log)
    redis.call('UNLINK', log)
    return bytes
  end
  for _ = 1, ${PRUNED_AT_ONCE} do
    local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
    if not oldest[1] then return pruned end
    if excess <= 0 and tonumber(oldest[2]) >= tonumber(ARGV[3]) then return pruned end
    table.insert(pruned, oldest[1])
    table.insert(pruned, oldest[2])
    table.insert(pruned, forget(oldest[1]))
    excess = excess - 1
  end
  return pruned`,
  COUNT_USAGE,
);

export interface AddToIndexOptions {
  /**
   * The prefix of the keys of the deliveries' logs, in the same slot as the index: the log of an ended
   * delivery is removed together with its entry.
   */
  readonly logPrefix?: string;
  readonly counted?: CountedEntry;
}

/**
 * Put an event into an index. Idempotent. The index is pruned where it grows, so that none needs a sweep.
 *
 * @returns the pruned entries.
 */
export async function addToIndex(
  target: ScriptTarget,
  key: string,
  { eventId, createdAt }: EventMark,
  { ageMs, count }: Retention,
  { logPrefix = '', counted }: AddToIndexOptions = {},
): Promise<readonly Pruned[]> {
  const keys = counted ? [key, counted.usageKey, counted.usedBytesKey] : [key];
  const fields = (counted?.fields ?? []).flatMap(({ field, bytes }) => [field, bytes]);
  const args = [
    createdAt,
    eventId,
    createdAt - ageMs,
    count,
    ageMs,
    logPrefix,
    counted?.keptMs ?? 0,
    ...fields,
  ];
  return toPruned((await ADD(target, keys, args)) as readonly (string | number)[]);
}

function toPruned(flat: readonly (string | number)[]): Pruned[] {
  const pruned: Pruned[] = [];
  for (let i = 0; i + 2 < flat.length; i += 3) {
    const bytes = Number(flat[i + 2]);
    pruned.push({
      eventId: flat[i] as EventId,
      createdAt: Number(flat[i + 1]),
      logBytes: bytes === NO_LOG_GONE ? undefined : bytes,
    });
  }
  return pruned;
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
