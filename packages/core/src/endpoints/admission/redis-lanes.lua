---@include ../../platform/redis-time.lua
---@include ../../queue/bullmq-lanes.lua
---@const ORDER_KEPT_MS ./limits

-- The lanes in which deliveries of an endpoint wait for each other: one for each group of events, or one for all of them. The
-- keys of a lane are those of the endpoint with the name of the lane behind them. Of each group that has held deliveries,
-- those that may go are in `ready`.
--
-- Only deliveries with jobs of their own are here. With `RECORD_FORM=former` these are all of an order. Without it, they are those that
-- have failed for good, and those that wait while their endpoint is disabled and discards what comes due: they have a place in the
-- order alone. So turns, `ready` and `coalescing` go with that setting.

-- The newest begins when the window ends. The deliveries that it replaces are checked again after this time.
local COALESCED_AFTER_MS = 250
-- The others follow when these have ended.
local COALESCED_AT_ONCE = 100
local LANES_LOOK_EVERY_MS = 10000
local LANES_AT_ONCE = 500
-- Nobody looks any more.
local LANES_LOOK_KEPT_MS = 60000

--- Each event with its time before it.
local function add_ready(ready, next)
  if #next == 0 then return end
  redis.call('ZADD', ready, unpack(next))
  redis.call('PEXPIRE', ready, ORDER_KEPT_MS)
end

--- For a lane that coalesces. An event is superseded by one that was sent, never by one that may still be erased, cancelled or
--- superseded itself. The last one that was sent counts as long as others are in the lane: they may be older. Gives what keeps
--- the event from being sent.
local function coalesce(coalescing, ready, lane, order, event, place, window_ms)
  local sent = redis.call('HGET', coalescing, lane .. ' sent')
  local sent_at, sent_event = string.match(sent or '', '^(%d+) (.*)$')
  local is_newer = sent_at
    and (tonumber(sent_at) > tonumber(place) or tonumber(sent_at) == tonumber(place) and sent_event > event)
  if is_newer then return { kind = 'superseded', by = sent_event } end
  local now = time_now()
  redis.call('HSETNX', coalescing, lane, string.format('%d', now + window_ms))
  redis.call('PEXPIRE', coalescing, ORDER_KEPT_MS)
  local newest = redis.call('ZRANGE', order, -1, -1, 'WITHSCORES')
  local wait_until = tonumber(redis.call('HGET', coalescing, lane))
  if newest[1] ~= event then wait_until = wait_until + COALESCED_AFTER_MS end
  if wait_until > now then return { kind = 'coalescing', wait_until = wait_until } end
  if newest[1] ~= event then
    add_ready(ready, { newest[2], newest[1] })
    return { kind = 'ordering', is_soon = true }
  end
  return nil
end

--- Gives who has the turn, or else the events that may go, each with its time before it. Where the newest goes, so may the
--- oldest, should the endpoint not coalesce any more.
local function who_is_next(order, turn, coalescing, lane)
  local holder = redis.call('GET', turn .. lane)
  if holder and redis.call('ZSCORE', order .. lane, holder) then return holder, {} end
  local first = redis.call('ZRANGE', order .. lane, 0, 0, 'WITHSCORES')
  if #first == 0 then return nil, {} end
  local next = { first[2], first[1] }
  local sent = redis.call('HGET', coalescing, lane .. ' sent')
  if sent or redis.call('HEXISTS', coalescing, lane) == 1 then
    local newest = redis.call('ZRANGE', order .. lane, -1, -1, 'WITHSCORES')
    table.insert(next, newest[2])
    table.insert(next, newest[1])
  end
  return nil, next, sent
end

--- Puts deliveries into their lanes. Those that are in one keep their position.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key lanes = lanes(endpoint)
---@param events EventId[]
---@param accepted_at digits[]    of each
---@param lane_of_each text[]     empty: that of the whole endpoint
---@param are_new boolean[]       accepted just now
function join_order(order, lanes, events, accepted_at, lane_of_each, are_new)
  for i, event in ipairs(events) do
    local lane, place = lane_of_each[i], accepted_at[i]
    local lane_order = order .. lane
    if are_new[i] then place = place_of_new(lane_order, event, place) end
    redis.call('ZADD', lane_order, 'NX', place, event)
    if lane ~= '' then
      redis.call('PEXPIRE', lane_order, ORDER_KEPT_MS)
      redis.call('HSET', lanes, event, lane)
      redis.call('PEXPIRE', lanes, ORDER_KEPT_MS)
    end
  end
end

--- A delivery that has ended makes room. Who is next in its lane now may be held for that. Those that are older than the one that
--- was sent need not wait for each other: they are superseded. Gives whether others of its group may begin now.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key turn = turn(endpoint)
---@key lanes = lanes(endpoint)
---@key ready = ready(endpoint)
---@key coalescing = coalescing(endpoint)
---@param event EventId
---@return boolean
function leave_order(order, turn, lanes, ready, coalescing, event)
  local group = redis.call('HGET', lanes, event)
  local lane = group or ''
  redis.call('ZREM', order .. lane, event)
  if redis.call('GET', turn .. lane) == event then redis.call('DEL', turn .. lane) end
  redis.call('ZREM', ready, event)
  if not group then return false end
  redis.call('HDEL', lanes, event)
  local holder, next, sent = who_is_next(order, turn, coalescing, lane)
  if holder then return false end
  if #next == 0 then
    redis.call('HDEL', coalescing, lane, lane .. ' sent')
    return false
  end
  if sent then
    local until_sent = string.match(sent, '^%d+')
    local older =
      redis.call('ZRANGEBYSCORE', order .. lane, '-inf', until_sent, 'WITHSCORES', 'LIMIT', 0, COALESCED_AT_ONCE)
    for i = 1, #older, 2 do
      table.insert(next, older[i + 1])
      table.insert(next, older[i])
    end
  end
  add_ready(ready, next)
  return true
end

--- A delivery is held. If no other one of its lane goes before it, it may go as soon as any may.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key turn = turn(endpoint)
---@key lanes = lanes(endpoint)
---@key ready = ready(endpoint)
---@key coalescing = coalescing(endpoint)
---@param event EventId
---@param accepted_at digits
function mark_ready(order, turn, lanes, ready, coalescing, event, accepted_at)
  local lane = redis.call('HGET', lanes, event)
  if lane then
    local holder, next = who_is_next(order, turn, coalescing, lane)
    if holder ~= event and next[2] ~= event and next[4] ~= event then return end
  end
  add_ready(ready, { accepted_at, event })
end

--- Goes through the lanes, some at a time, and finds what a loss of data in Redis has left: a lane in which nobody is ready, or
--- whose turn nobody has. Gives who has the turn in each, or else may go.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key turn = turn(endpoint)
---@key lanes = lanes(endpoint)
---@key ready = ready(endpoint)
---@key coalescing = coalescing(endpoint)
---@key look = lanesLook(endpoint)
---@return EventId[]
function look_at_lanes(order, turn, lanes, ready, coalescing, look)
  local now = time_now()
  local last = redis.call('HMGET', look, 'at', 'cursor')
  if now - tonumber(last[1] or 0) < LANES_LOOK_EVERY_MS then return {} end
  local page = redis.call('HSCAN', lanes, last[2] or '0', 'COUNT', LANES_AT_ONCE)
  redis.call('HSET', look, 'at', string.format('%d', now), 'cursor', page[1])
  redis.call('PEXPIRE', look, LANES_LOOK_KEPT_MS)
  local found, seen = {}, {}
  for i = 2, #page[2], 2 do
    local event, lane = page[2][i - 1], page[2][i]
    if not redis.call('ZSCORE', order .. lane, event) then
      redis.call('HDEL', lanes, event)
    elseif not seen[lane] then
      seen[lane] = true
      local holder, next = who_is_next(order, turn, coalescing, lane)
      if holder then table.insert(found, holder) end
      add_ready(ready, next)
      for n = 2, #next, 2 do
        table.insert(found, next[n])
      end
    end
  end
  return found
end
