import { COUNT_USAGE } from '../accounts/redis-usage-store';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, inLua, type ScriptTarget } from '../platform/redis-script';
import { readTimeline, type TimeRange } from '../platform/redis-timeline';

/** How long and how many events are kept. */
export interface Retention {
  readonly ageMs: number;
  /** The number of events that one index keeps, the newest. */
  readonly count: number;
}

const DAY_MS = 86_400_000;

/**
 * What is still open when its RETENTION is over is cancelled, and shown for that long again. Until somebody has found it, its
 * event has to be there: for a day, or for as long again where that is less. Milliseconds.
 */
export function graceOf({ ageMs }: Pick<Retention, 'ageMs'>): number {
  return Math.min(ageMs, DAY_MS);
}

/** How long the record of an event is stored. Milliseconds. */
export function storedMsOf(retention: Pick<Retention, 'ageMs'>): number {
  return retention.ageMs + graceOf(retention);
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

/** The entries that an index gets. */
export interface IndexAddition {
  readonly index: string;
  readonly entries: readonly EventMark[];
}

/** An entry with the bytes to count for it if it is new: one number for each counted field. */
export interface CountedEntry extends EventMark {
  readonly bytes: readonly number[];
}

/** The usage to count for the account together with new entries. The keys are in the index' slot. */
export interface Counted {
  readonly usageKey: string;
  readonly usedBytesKey: string;
  readonly fields: readonly string[];
  readonly keptMs: number;
}

const NO_LOG_GONE = -1;

// Of an index, when each of some entries may go: they are shown for longer than their age says. The Lua of its name.
const KEPT_LONGER = `(string.gsub(index, '^[^{]*', 'kept-longer:'))`;

// `prune` makes room in an index that has got some entries. How old others may be, Redis' clock says: an API or a worker
// whose own clock is ahead would remove all that is there. An entry that is old when it comes, such as that of an event
// which waited for long on the queue, stays as long as those from its time on. A delivery stays as long as it is open: its
// log ends with the time of the next attempt, with a request, or with what its next attempt sends; or there is none yet. If
// the oldest entry stays, others of those that are too old or too many are tried, by chance: so they go, however many stay.
// Scripts that run as one look for old entries once. The removed entries are added to `pruned`: each with its place among
// the indexes, its time and the bytes of its log.
const PRUNE = `
  local function stays_longer(index, event)
    local kept = ${KEPT_LONGER}
    local kept_until = redis.call('ZSCORE', kept, event)
    if not kept_until then return false end
    local time = redis.call('TIME')
    if tonumber(kept_until) > tonumber(time[1]) * 1000 then return true end
    redis.call('ZREM', kept, event)
    return false
  end

  local function is_open_after(tail, log)
    if string.find(tail, '"[rt]":%d+}\\n$') or string.find(tail, '{"w":%d+}\\n$') then return true end
    -- Attempts may end like this, too.
    if not string.find(tail, '"v":%d+}\\n$') then return false end
    return string.find('\\n' .. redis.call('GET', log), '\\n{"m":[^\\n]*\\n$') ~= nil
  end

  local function prune(pruned, place, index, entries, newest, most, kept_ms, has_logs)
    local is_first = at_end('expire ' .. index, function() redis.call('PEXPIRE', index, kept_ms) end)
    local excess = redis.call('ZCARD', index) - most
    if excess <= 0 and not is_first then return end
    local redis_time = redis.call('TIME')
    local kept_since = math.min(redis_time[1] * 1000, newest) - kept_ms
    local at, candidates = 0, nil
    for _ = 1, ${PRUNED_AT_ONCE} * entries do
      local oldest = redis.call('ZRANGE', index, at, at, 'WITHSCORES')
      local event, time = oldest[1], oldest[2]
      if not event or (excess <= 0 and tonumber(time) >= kept_since) then return end
      local bytes, is_open, log = ${NO_LOG_GONE}, false, nil
      if has_logs then
        local endpoint = string.match(index, '{(.*)}')
        log = ${inLua(keys.delivery('<endpoint>' as EndpointId, '<event>' as EventId))}
        local tail = redis.call('GETRANGE', log, -24, -1)
        if tail == '' then
          is_open = tonumber(time) >= kept_since
        else
          is_open = is_open_after(tail, log)
          bytes = redis.call('STRLEN', log)
        end
      end
      if is_open or stays_longer(index, event) then
        if not candidates then
          math.randomseed(tonumber(redis.call('TIME')[2]))
          local too_old = redis.call('ZCOUNT', index, '-inf', '(' .. string.format('%d', kept_since))
          candidates = math.max(excess, too_old)
        end
      else
        redis.call('ZREM', index, event)
        if bytes ~= ${NO_LOG_GONE} then redis.call('UNLINK', log) end
        for _, value in ipairs({place, event, time, bytes}) do pruned[#pruned + 1] = value end
        excess = excess - 1
        candidates = candidates and candidates - 1
      end
      if candidates then
        if candidates < 1 then return end
        at = math.random(0, candidates - 1)
      end
    end
  end`;

// KEYS: index. ARGV: time, event, for how long from now it stays. It may have left the index already.
const KEEP_LISTED = defineScript(`
  local index, kept_ms = KEYS[1], tonumber(ARGV[3])
  local kept = ${KEPT_LONGER}
  local time = redis.call('TIME')
  redis.call('ZADD', index, 'NX', ARGV[1], ARGV[2])
  redis.call('ZADD', kept, string.format('%d', tonumber(time[1]) * 1000 + kept_ms), ARGV[2])
  for _, key in ipairs({index, kept}) do
    if redis.call('PTTL', key) < kept_ms then redis.call('PEXPIRE', key, ARGV[3]) end
  end`);

// KEYS: indexes of endpoints. ARGV: the time of the newest entry, how many stay, how long all of it is kept, then
// of each index how many entries it gets, and the time and the event of each. Gives what `prune` does.
const ADD_TO_EACH = defineScript(
  `
  local newest, most, kept_ms, at, pruned = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], 4, {}
  for place, index in ipairs(KEYS) do
    local entries = tonumber(ARGV[at])
    redis.call('ZADD', index, 'NX', unpack(ARGV, at + 1, at + 2 * entries))
    prune(pruned, place, index, entries, newest, most, kept_ms, true)
    at = at + 1 + 2 * entries
  end
  return pruned`,
  PRUNE,
);

// KEYS: index, usage, used bytes. ARGV: as above, how long the usage counts, how many fields, the fields, then of each
// entry its time, its event, and its bytes for each field. Gives what `prune` does.
const ADD_COUNTED = defineScript(
  `
  local index, fields, pruned, sums = KEYS[1], tonumber(ARGV[5]), {}, {0, 0}
  local entries = (#ARGV - 5 - fields) / (2 + fields)
  for i = 6 + fields, #ARGV, 2 + fields do
    if redis.call('ZADD', index, 'NX', ARGV[i], ARGV[i + 1]) == 1 then
      for field = 1, fields do sums[field] = sums[field] + tonumber(ARGV[i + 1 + field]) end
    end
  end
  for field = 1, fields do count_usage(KEYS[2], KEYS[3], ARGV[5 + field], sums[field], tonumber(ARGV[4])) end
  prune(pruned, 1, index, entries, tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], false)
  return pruned`,
  PRUNE,
  COUNT_USAGE,
);

/**
 * Put events into indexes. Idempotent. An index is pruned where it grows, so that none needs a sweep. The log of an ended
 * delivery is removed together with its entry.
 *
 * @returns the pruned entries of each.
 */
export async function addToEach(
  target: ScriptTarget,
  additions: readonly IndexAddition[],
  retention: Retention,
): Promise<readonly (readonly Pruned[])[]> {
  const entries = additions.flatMap((addition) => addition.entries);
  const args = retentionArgs(entries, retention);
  for (const addition of additions) {
    args.push(addition.entries.length);
    for (const { createdAt, eventId } of addition.entries) args.push(createdAt, eventId);
  }
  const indexes = additions.map(({ index }) => index);
  const reply = await ADD_TO_EACH(target, indexes, args);
  const pruned = additions.map((): Pruned[] => []);
  for (const { place, ...each } of prunedIn(reply)) pruned[place - 1]?.push(each);
  return pruned;
}

/** The same for an account's events, whose bytes count for the account. */
export async function addCounted(
  target: ScriptTarget,
  index: string,
  entries: readonly CountedEntry[],
  retention: Retention,
  { usageKey, usedBytesKey, fields, keptMs }: Counted,
): Promise<readonly Pruned[]> {
  const args = [...retentionArgs(entries, retention), keptMs, fields.length, ...fields];
  for (const { createdAt, eventId, bytes } of entries) args.push(createdAt, eventId, ...bytes);
  return prunedIn(await ADD_COUNTED(target, [index, usageKey, usedBytesKey], args));
}

/**
 * Keep an entry in an index for some time from now, however old it is and however many came after it. Idempotent.
 *
 * @param forMs milliseconds.
 */
export async function keepListed(
  target: ScriptTarget,
  index: string,
  { eventId, createdAt }: EventMark,
  forMs: number,
): Promise<void> {
  await KEEP_LISTED(target, [index], [createdAt, eventId, forMs]);
}

function retentionArgs(entries: readonly EventMark[], { ageMs, count }: Retention): (string | number)[] {
  let newest = 0;
  for (const { createdAt } of entries) newest = Math.max(newest, createdAt);
  return [newest, count, ageMs];
}

function prunedIn(reply: unknown): readonly (Pruned & { readonly place: number })[] {
  const flat = reply as readonly (string | number)[];
  const pruned: (Pruned & { readonly place: number })[] = [];
  for (let i = 0; i + 3 < flat.length; i += 4) {
    const bytes = Number(flat[i + 3]);
    pruned.push({
      place: Number(flat[i]),
      eventId: flat[i + 1] as EventId,
      createdAt: Number(flat[i + 2]),
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
