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

/** An entry of an index, with the bytes to count for it if it is new: one number for each counted field. */
export interface NewEntry extends EventMark {
  readonly bytes?: readonly number[];
}

/** The usage to count for the account together with new entries. The keys are in the index' slot. */
export interface Counted {
  readonly usageKey: string;
  readonly usedBytesKey: string;
  readonly fields: readonly string[];
  readonly keptMs: number;
}

const NO_LOG_GONE = -1;

// KEYS: index, then usage and used bytes if something is to be counted. ARGV: entries older than this are
// removed, how many stay, how long all of it is kept, the prefix of the logs' keys (empty: no logs), how long
// the usage counts, how many fields, the fields, then of each entry its time, its event, and its bytes for
// each field. A log that ends with the time of the next attempt, or with a request, is still needed. Scripts
// that run as one look for old entries once. Gives the removed entries, each with its time and the bytes of
// its log.
const ADD = defineScript(
  `
  local index, fields = KEYS[1], tonumber(ARGV[6])
  local entries = (#ARGV - 6 - fields) / (2 + fields)
  if fields == 0 then
    redis.call('ZADD', index, 'NX', unpack(ARGV, 7))
  else
    local sums = {0, 0}
    for i = 7 + fields, #ARGV, 2 + fields do
      if redis.call('ZADD', index, 'NX', ARGV[i], ARGV[i + 1]) == 1 then
        for field = 1, fields do sums[field] = sums[field] + tonumber(ARGV[i + 1 + field]) end
      end
    end
    for field = 1, fields do count_usage(KEYS[2], KEYS[3], ARGV[6 + field], sums[field], tonumber(ARGV[5])) end
  end
  local is_first = at_end('expire ' .. index, function() redis.call('PEXPIRE', index, ARGV[3]) end)
  local pruned = {}
  local excess = redis.call('ZCARD', index) - tonumber(ARGV[2])
  if excess <= 0 and not is_first then return pruned end
  for _ = 1, ${PRUNED_AT_ONCE} * entries do
    local oldest = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
    local event, time = oldest[1], oldest[2]
    if not event or (excess <= 0 and tonumber(time) >= tonumber(ARGV[1])) then return pruned end
    redis.call('ZREM', index, event)
    local bytes = ${NO_LOG_GONE}
    if ARGV[4] ~= '' then
      local log = ARGV[4] .. event
      local tail = redis.call('GETRANGE', log, -24, -1)
      if tail ~= '' and not string.find(tail, '"[rt]":%d+}\\n$') then
        bytes = redis.call('STRLEN', log)
        redis.call('UNLINK', log)
      end
    end
    table.insert(pruned, event)
    table.insert(pruned, time)
    table.insert(pruned, bytes)
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
  /** One field or two. */
  readonly counted?: Counted;
}

/**
 * Put events into an index. Idempotent. The index is pruned where it grows, so that none needs a sweep.
 *
 * @returns the pruned entries.
 */
export async function addToIndex(
  target: ScriptTarget,
  key: string,
  entries: readonly NewEntry[],
  { ageMs, count }: Retention,
  { logPrefix = '', counted }: AddToIndexOptions = {},
): Promise<readonly Pruned[]> {
  const keys = counted ? [key, counted.usageKey, counted.usedBytesKey] : [key];
  const fields = counted?.fields ?? [];
  let newest = 0;
  for (const { createdAt } of entries) newest = Math.max(newest, createdAt);
  const args = [newest - ageMs, count, ageMs, logPrefix, counted?.keptMs ?? 0, fields.length, ...fields];
  for (const { createdAt, eventId, bytes = [] } of entries) args.push(createdAt, eventId, ...bytes);
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
