import { defineScript } from '../../platform/redis-script';

/*
 * The lines in which deliveries of an endpoint wait for each other: one for each group of events, or one for all of
 * them. The keys of a line are those of the endpoint with the name of the line behind them. Of each group that has
 * held deliveries, those that may go are in `ready`.
 */

/** Longer than any event is kept, so that lines that are not removed expire. */
export const ORDER_KEPT_MS = 400 * 86_400_000;

/** All workers use the clock of Redis. A time counts until the end of its millisecond. */
export const NOW = `
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local function at(ms) return string.format('%d', now + ms) end`;

// The newest begins when the window ends. The deliveries that it replaces are checked again after this time.
const COALESCED_AFTER_MS = 250;
// The others follow when these have ended.
const COALESCED_AT_ONCE = 100;
const LOOK_EVERY_MS = 10_000;
const LINES_AT_ONCE = 500;
// Nobody looks any more.
const LOOK_KEPT_MS = 60_000;

/**
 * For a line that coalesces. An event is superseded by one that was sent, never by one that may still be erased, cancelled
 * or superseded itself. The last one that was sent counts as long as others are in the line: they may be older. Gives
 * what keeps the event from being sent.
 */
export const COALESCE = `
  local function coalesce(coalescing, ready, line, order, event, place, window)
    local sent = redis.call('HGET', coalescing, line .. ' sent')
    local sent_at, sent_event = string.match(sent or '', '^(%d+) (.*)$')
    local is_newer = sent_at and (tonumber(sent_at) > tonumber(place)
      or tonumber(sent_at) == tonumber(place) and sent_event > event)
    if is_newer then return {0, 'superseded', 0, sent_event} end
    ${NOW}
    redis.call('HSETNX', coalescing, line, at(tonumber(window)))
    redis.call('PEXPIRE', coalescing, ${ORDER_KEPT_MS})
    local newest = redis.call('ZRANGE', order, -1, -1, 'WITHSCORES')
    local wait_until = tonumber(redis.call('HGET', coalescing, line))
    if newest[1] ~= event then wait_until = wait_until + ${COALESCED_AFTER_MS} end
    if wait_until > now then return {0, 'coalescing', wait_until} end
    if newest[1] ~= event then
      add_ready(ready, {newest[2], newest[1]})
      return {0, 'ordering', 1}
    end
  end`;

// Gives who has the turn, or else the events that may go, each with its time before it. Where the newest goes, so may
// the oldest, should the endpoint not coalesce any more.
const WHO_IS_NEXT = `
  local function who_is_next(order, turn, coalescing, line)
    local holder = redis.call('GET', turn .. line)
    if holder and redis.call('ZSCORE', order .. line, holder) then return holder, {} end
    local first = redis.call('ZRANGE', order .. line, 0, 0, 'WITHSCORES')
    if #first == 0 then return nil, {} end
    local next = {first[2], first[1]}
    local sent = redis.call('HGET', coalescing, line .. ' sent')
    if sent or redis.call('HEXISTS', coalescing, line) == 1 then
      local newest = redis.call('ZRANGE', order .. line, -1, -1, 'WITHSCORES')
      table.insert(next, newest[2])
      table.insert(next, newest[1])
    end
    return nil, next, sent
  end`;

/** Each event with its time before it. */
export const ADD_READY = `
  local function add_ready(ready, next)
    if #next == 0 then return end
    redis.call('ZADD', ready, unpack(next))
    redis.call('PEXPIRE', ready, ${ORDER_KEPT_MS})
  end`;

/**
 * A new event never comes before the last one of its line, whatever the time of its acceptance: Redis' clock may have been
 * set back, or a replica with an earlier one promoted. KEYS: order, lines. ARGV: time of acceptance, id and line of each
 * event, and 1 if it is new.
 */
export const JOIN_ORDER = defineScript(`
  for i = 1, #ARGV, 4 do
    local place, event, line = unpack(ARGV, i, i + 2)
    local order = KEYS[1] .. line
    if ARGV[i + 3] == '1' and not redis.call('ZSCORE', order, event) then
      local last = redis.call('ZRANGE', order, -1, -1, 'WITHSCORES')
      local last_place = tonumber(last[2] or '-1')
      local is_before = last_place > tonumber(place) or last_place == tonumber(place) and last[1] > event
      if is_before then place = string.format('%d', last_place + 1) end
    end
    redis.call('ZADD', order, 'NX', place, event)
    if line ~= '' then
      redis.call('PEXPIRE', order, ${ORDER_KEPT_MS})
      redis.call('HSET', KEYS[2], event, line)
      redis.call('PEXPIRE', KEYS[2], ${ORDER_KEPT_MS})
    end
  end`);

/**
 * Who is next in the line now may be held for that. Those that are older than the one that was sent need not wait for each
 * other: they are superseded. KEYS: order, turn, lines, ready, coalescing. ARGV: event. Gives 1 if others may begin.
 */
export const LEAVE_ORDER = defineScript(
  `
  local order, turn, lines, ready, coalescing = unpack(KEYS)
  local event, line = ARGV[1], redis.call('HGET', KEYS[3], ARGV[1])
  redis.call('ZREM', order .. (line or ''), event)
  if redis.call('GET', turn .. (line or '')) == event then redis.call('DEL', turn .. (line or '')) end
  redis.call('ZREM', ready, event)
  if not line then return 0 end
  redis.call('HDEL', lines, event)
  local holder, next, sent = who_is_next(order, turn, coalescing, line)
  if holder then return 0 end
  if #next == 0 then
    redis.call('HDEL', coalescing, line, line .. ' sent')
    return 0
  end
  if sent then
    local until_sent = string.match(sent, '^%d+')
    local older = redis.call('ZRANGEBYSCORE', order .. line, '-inf', until_sent, 'WITHSCORES', 'LIMIT', 0, ${COALESCED_AT_ONCE})
    for i = 1, #older, 2 do
      table.insert(next, older[i + 1])
      table.insert(next, older[i])
    end
  end
  add_ready(ready, next)
  return 1`,
  WHO_IS_NEXT,
  ADD_READY,
);

/** KEYS: order, turn, lines, ready, coalescing. ARGV: time of acceptance, event. */
export const MARK_READY = defineScript(
  `
  local order, turn, lines, ready, coalescing = unpack(KEYS)
  local accepted_at, event = unpack(ARGV)
  local line = redis.call('HGET', lines, event)
  if line then
    local holder, next = who_is_next(order, turn, coalescing, line)
    if holder ~= event and next[2] ~= event and next[4] ~= event then return end
  end
  add_ready(ready, {accepted_at, event})`,
  WHO_IS_NEXT,
  ADD_READY,
);

/**
 * Goes through the lines, some at a time, and finds what a loss of data in Redis has left: a line in which nobody is ready,
 * or whose turn nobody has. KEYS: order, turn, lines, ready, coalescing, look. Gives who has
 * the turn in each, or else may go.
 */
export const LOOK_AT_LINES = defineScript(
  `${NOW}
  local order, turn, lines, ready, coalescing, look = unpack(KEYS)
  local last = redis.call('HMGET', look, 'at', 'cursor')
  if now - tonumber(last[1] or 0) < ${LOOK_EVERY_MS} then return {} end
  local page = redis.call('HSCAN', lines, last[2] or '0', 'COUNT', ${LINES_AT_ONCE})
  redis.call('HSET', look, 'at', at(0), 'cursor', page[1])
  redis.call('PEXPIRE', look, ${LOOK_KEPT_MS})
  local found, seen = {}, {}
  for i = 2, #page[2], 2 do
    local event, line = page[2][i - 1], page[2][i]
    if not redis.call('ZSCORE', order .. line, event) then
      redis.call('HDEL', lines, event)
    elseif not seen[line] then
      seen[line] = true
      local holder, next = who_is_next(order, turn, coalescing, line)
      if holder then table.insert(found, holder) end
      add_ready(ready, next)
      for n = 2, #next, 2 do table.insert(found, next[n]) end
    end
  end
  return found`,
  WHO_IS_NEXT,
  ADD_READY,
);
