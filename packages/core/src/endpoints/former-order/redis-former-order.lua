---@include ../../platform/redis-time.lua
---@include ../admission/redis-lanes-look.lua
---@const ORDER_KEPT_MS ../admission/limits

-- The turns of deliveries that wait for each other although each has a job: see `FormerOrder`. Their places are those beside
-- lanes (`endpoints/admission/redis-beside-lanes.lua`): `order`, with the name of the lane behind it, and `lanes`, which says in which
-- lane each is. `turn` has who has begun in a lane. Of each group that has held deliveries, those that may go are in `ready`.

local END_AWAITED_MS = 3600000
-- The newest begins when the window ends. The deliveries that it replaces are checked again after this time.
local COALESCED_AFTER_MS = 250
-- The others follow when these have ended.
local COALESCED_AT_ONCE = 100

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

--- A delivery has left its place. Who is next in its lane now may be held for that. Those that are older than the one that was sent
--- need not wait for each other: they are superseded.
local function leave_turn(order, turn, ready, coalescing, lane, event)
  if redis.call('GET', turn .. lane) == event then redis.call('DEL', turn .. lane) end
  redis.call('ZREM', ready, event)
  if lane == '' then return end
  local holder, next, sent = who_is_next(order, turn, coalescing, lane)
  if holder then return end
  if #next == 0 then
    redis.call('HDEL', coalescing, lane, lane .. ' sent')
    return
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
end

--- Whether it is a delivery's turn: it has begun, or is the first one, and no other one has begun. A delivery that has begun keeps its
--- turn as long as it is in the order. A turn without an entry in the order is void. In a lane that coalesces, older ones are no
--- obstacle: they are not sent.
---@guard
---@with endpoint EndpointId
---@key whole_order = order(endpoint)
---@key whole_turn = turn(endpoint)
---@key order_waiting = orderWaiting(endpoint)
---@key lanes = lanes(endpoint)
---@key ready = ready(endpoint)
---@key coalescing = coalescing(endpoint)
---@param lane text               empty: that of the whole endpoint
---@param event EventId
---@param accepted_at digits
---@param window_ms integer       for which its lane coalesces; 0: it does not
---@reply kind 'has_begun'|'first'|'ordering'|'superseded'|'coalescing'
---@reply wait_until integer      of `coalescing`
---@reply is_soon boolean         of `ordering`
---@reply by EventId?             of `superseded`
function look_for_turn(
  whole_order,
  whole_turn,
  order_waiting,
  lanes,
  ready,
  coalescing,
  lane,
  event,
  accepted_at,
  window_ms
)
  local order, turn = whole_order .. lane, whole_turn .. lane
  local function refuse(why)
    if lane == '' then
      redis.call('SET', order_waiting, '1', 'PX', END_AWAITED_MS)
    else
      redis.call('ZREM', ready, event)
    end
    return stop { kind = why.kind, wait_until = why.wait_until, is_soon = why.is_soon, by = why.by }
  end
  redis.call('ZADD', order, 'NX', accepted_at, event)
  redis.call('PEXPIRE', order, ORDER_KEPT_MS)
  if lane ~= '' then
    redis.call('HSET', lanes, event, lane)
    redis.call('PEXPIRE', lanes, ORDER_KEPT_MS)
  end
  local holder = redis.call('GET', turn)
  if holder == event then return reply { kind = 'has_begun' } end
  -- It may be later than the time of acceptance.
  local place = redis.call('ZSCORE', order, event)
  local why_not = window_ms > 0 and coalesce(coalescing, ready, lane, order, event, place, window_ms)
  if why_not and why_not.kind == 'superseded' then return refuse(why_not) end
  if holder and redis.call('ZSCORE', order, holder) then return refuse { kind = 'ordering' } end
  if why_not then return refuse(why_not) end
  if window_ms == 0 and redis.call('ZRANGE', order, 0, 0)[1] ~= event then return refuse { kind = 'ordering' } end
  return reply { kind = 'first' }
end

--- The delivery has the turn from now on.
---@with endpoint EndpointId
---@key whole_order = order(endpoint)
---@key whole_turn = turn(endpoint)
---@key ready = ready(endpoint)
---@key coalescing = coalescing(endpoint)
---@param lane text
---@param event EventId
---@param window_ms integer
function begin_turn(whole_order, whole_turn, ready, coalescing, lane, event, window_ms)
  redis.call('SET', whole_turn .. lane, event, 'PX', ORDER_KEPT_MS)
  if lane == '' then return end
  redis.call('ZREM', ready, event)
  if window_ms == 0 then return end
  redis.call('HDEL', coalescing, lane)
  redis.call('HSET', coalescing, lane .. ' sent', redis.call('ZSCORE', whole_order .. lane, event) .. ' ' .. event)
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

--- Who goes next in strict order. A process of the version before that ends it wakes the endpoint up.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key turn = turn(endpoint)
---@key order_waiting = orderWaiting(endpoint)
---@reply next EventId?           the delivery that has the turn, or the first one
---@reply accepted_at integer     of that one
---@reply has_begun boolean
---@reply was_end_awaited boolean
function next_in_order(order, turn, order_waiting)
  local holder = redis.call('GET', turn)
  local place = holder and redis.call('ZSCORE', order, holder)
  local first = place and { holder, place } or redis.call('ZRANGE', order, 0, 0, 'WITHSCORES')
  return reply {
    next = first[1],
    accepted_at = tonumber(first[2] or 0),
    has_begun = place and true,
    was_end_awaited = redis.call('SET', order_waiting, '1', 'PX', END_AWAITED_MS, 'GET') == '1',
  }
end

--- Who may go in an order of groups. Also goes through the lanes, some at a time and seldom, and finds what a loss of data in Redis has
--- left: a lane in which nobody is ready, or whose turn nobody has. Gives who has the turn in each, or else may go.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key turn = turn(endpoint)
---@key lanes = lanes(endpoint)
---@key ready = ready(endpoint)
---@key coalescing = coalescing(endpoint)
---@key look = lanesLook(endpoint)
---@param most integer            of those that are ready
---@return EventId[]
function next_in_groups(order, turn, lanes, ready, coalescing, look, most)
  local found = redis.call('ZRANGE', ready, 0, most - 1)
  for _, lane in ipairs(lanes_to_look_at(order, lanes, look)) do
    local holder, next = who_is_next(order, turn, coalescing, lane)
    if holder then table.insert(found, holder) end
    add_ready(ready, next)
    for n = 2, #next, 2 do
      table.insert(found, next[n])
    end
  end
  return found
end
