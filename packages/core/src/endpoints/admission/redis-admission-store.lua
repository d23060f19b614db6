---@include ./redis-breaker.lua
---@include ./redis-lanes.lua
---@include ../../platform/redis-time.lua
---@const LIMITS_KEPT_MS, ORDER_KEPT_MS, RATE_WINDOW_MS ./limits
---@const PROBE_MS ../../domain/breaker

-- Attempts are counted for the rate limit in a sorted set, each by when it stops counting. All workers use the clock of Redis. A
-- time counts until the end of its millisecond.

--- Until when an attempt counts that ends now.
local function end_of_window()
  return string.format('%d', time_now() + RATE_WINDOW_MS)
end

local function drop_expired_attempts(recent, now)
  redis.call('ZREMRANGEBYSCORE', recent, '-inf', string.format('(%d', now))
end

--- In how many milliseconds the next one stops counting.
local function next_free_in(recent, now)
  local first = redis.call('ZRANGE', recent, 0, 0, 'WITHSCORES')
  return first[2] and math.max(tonumber(first[2]) + 1 - now, 0) or 0
end

--- Admits an attempt, in one step that takes everything or nothing: the circuit breaker's probe, a share of the rate limit,
--- the turn of an endpoint with strict order, or of a group of events. What comes after it runs only if the delivery is the
--- first one, and is to begin next. Where one script looks and begins, nothing comes between.
---
--- A delivery that has begun keeps its turn as long as it is in the order. A turn without an entry in the order is void. In a
--- lane that coalesces, older ones are no obstacle: they are not sent.
---@guard
---@with endpoint EndpointId
---@key breaker = breaker(endpoint)
---@key recent = recentAttempts(endpoint)
---@key whole_order = order(endpoint)
---@key whole_turn = turn(endpoint)
---@key rate_waiting = rateWaiting(endpoint)
---@key order_waiting = orderWaiting(endpoint)
---@key lanes = lanes(endpoint) if lane
---@key ready = ready(endpoint) if lane
---@key coalescing = coalescing(endpoint) if lane
---@param now integer             the worker's
---@param event EventId
---@param accepted_at digits
---@param ordering 'any'|'look'|'begin'
---@param rate_limit integer?
---@param attempt text            counts it
---@param lease_ms integer        for which it counts, if its worker dies
---@param has_waited boolean
---@param lane text?              of its group
---@param window_ms integer       for which its lane coalesces; 0: it does not
---@reply kind 'admitted'|'breaker_open'|'rate_limited'|'ordering'|'first'|'superseded'|'coalescing'
---@reply is_probe boolean        of `admitted`
---@reply wait_until integer      of `breaker_open` and `coalescing`
---@reply next_in_ms integer      of `rate_limited`
---@reply is_soon boolean         of `ordering`
---@reply by EventId?             of `superseded`
function admit_attempt(
  breaker,
  recent,
  whole_order,
  whole_turn,
  rate_waiting,
  order_waiting,
  lanes,
  ready,
  coalescing,
  now,
  event,
  accepted_at,
  ordering,
  rate_limit,
  attempt,
  lease_ms,
  has_waited,
  lane,
  window_ms
)
  local order, turn = whole_order .. (lane or ''), whole_turn .. (lane or '')
  local function refuse(why)
    if lane then
      redis.call('ZREM', ready, event)
    else
      redis.call('SET', order_waiting, '1', 'PX', LIMITS_KEPT_MS)
    end
    return stop { kind = why.kind, wait_until = why.wait_until, is_soon = why.is_soon, by = why.by }
  end
  -- Of its lane: it may be later than the time of acceptance.
  local function place()
    return redis.call('ZSCORE', order, event) or accepted_at
  end

  local is_first_still = ordering == 'begin' and once['first in ' .. order] == event
  if ordering ~= 'any' and not is_first_still then
    redis.call('ZADD', order, 'NX', accepted_at, event)
    redis.call('PEXPIRE', order, ORDER_KEPT_MS)
    if lane then
      redis.call('HSET', lanes, event, lane)
      redis.call('PEXPIRE', lanes, ORDER_KEPT_MS)
    end
    local holder = redis.call('GET', turn)
    if holder ~= event then
      local why_not = window_ms > 0 and coalesce(coalescing, ready, lane, order, event, place(), window_ms)
      if why_not and why_not.kind == 'superseded' then return refuse(why_not) end
      if holder and redis.call('ZSCORE', order, holder) then return refuse { kind = 'ordering' } end
      if why_not then return refuse(why_not) end
      local is_first = window_ms > 0 or redis.call('ZRANGE', order, 0, 0)[1] == event
      if not is_first then return refuse { kind = 'ordering' } end
      if ordering == 'look' then
        once['first in ' .. order] = event
        return reply { kind = 'first' }
      end
    end
  end

  local state = read_breaker(breaker)
  if state and state.open_until > now then return stop { kind = 'breaker_open', wait_until = state.open_until } end
  if rate_limit then
    local server_now = time_now()
    drop_expired_attempts(recent, server_now)
    local is_behind = not has_waited and redis.call('EXISTS', rate_waiting) == 1
    if is_behind or redis.call('ZCARD', recent) >= rate_limit then
      redis.call('SET', rate_waiting, '1', 'PX', LIMITS_KEPT_MS)
      return stop { kind = 'rate_limited', next_in_ms = next_free_in(recent, server_now) }
    end
    redis.call('ZADD', recent, string.format('%d', server_now + lease_ms), attempt)
    redis.call('PEXPIRE', recent, lease_ms + LIMITS_KEPT_MS)
  end
  if ordering ~= 'any' then redis.call('SET', turn, event) end
  if lane then
    redis.call('PEXPIRE', turn, ORDER_KEPT_MS)
    redis.call('ZREM', ready, event)
    if window_ms > 0 then
      redis.call('HDEL', coalescing, lane)
      redis.call('HSET', coalescing, lane .. ' sent', place() .. ' ' .. event)
    end
  end
  if not state or state.open_until == 0 then return stop { kind = 'admitted' } end
  state.open_until = now + PROBE_MS
  state.is_probing = true
  write_breaker(breaker, state)
  return stop { kind = 'admitted', is_probe = true }
end

--- Gives back everything that an attempt was admitted with.
---@with endpoint EndpointId
---@key breaker = breaker(endpoint)
---@key recent = recentAttempts(endpoint)
---@param attempt text?           absent: it is not counted
---@param was_probe boolean
---@param failures integer        of the breaker at its admission
---@param open_until integer      the same
---@param now integer             the worker's
function withdraw_attempt(breaker, recent, attempt, was_probe, failures, open_until, now)
  if attempt then redis.call('ZADD', recent, 'XX', end_of_window(), attempt) end
  local state = was_probe and read_breaker(breaker)
  if not state or state.failures ~= failures or state.open_until <= now then return end
  state.open_until = open_until
  state.is_probing = false
  write_breaker(breaker, state)
end

--- The state of everything that may hold an endpoint's deliveries back.
---@with endpoint EndpointId
---@key breaker = breaker(endpoint)
---@key recent = recentAttempts(endpoint)
---@key order = order(endpoint)
---@key turn = turn(endpoint)
---@key order_waiting = orderWaiting(endpoint)
---@key access_token = accessToken(endpoint)
---@key ready = ready(endpoint)
---@param rate_limit integer?
---@param most_ready integer      how many are read of those that are first in their lanes
---@reply failures integer        of the breaker
---@reply open_until integer      the same
---@reply is_probing boolean      the same
---@reply free integer?           attempts that the rate limit allows now
---@reply next_in_ms integer
---@reply next EventId?           the delivery that has the turn, or the first one
---@reply accepted_at integer     of that one
---@reply has_begun boolean
---@reply paused_until integer    while there is no access token; 0: there is one
---@reply ready EventId[]
---@reply is_end_awaited boolean
function stand(breaker, recent, order, turn, order_waiting, access_token, ready, rate_limit, most_ready)
  local now = time_now()
  local token = redis.call('HMGET', access_token, 'open_until', 'expires_at')
  local has_token = tonumber(token[2] or 0) > now
  if rate_limit then drop_expired_attempts(recent, now) end
  local holder = redis.call('GET', turn)
  local place = holder and redis.call('ZSCORE', order, holder)
  local first = place and { holder, place } or redis.call('ZRANGE', order, 0, 0, 'WITHSCORES')
  local state = read_breaker(breaker) or { failures = 0, open_until = 0 }
  return reply {
    failures = state.failures,
    open_until = state.open_until,
    is_probing = state.is_probing,
    free = rate_limit and math.max(rate_limit - redis.call('ZCARD', recent), 0),
    next_in_ms = next_free_in(recent, now),
    next = first[1],
    accepted_at = tonumber(first[2] or 0),
    has_begun = place and true,
    paused_until = has_token and 0 or tonumber(token[1] or 0),
    ready = most_ready > 0 and redis.call('ZRANGE', ready, 0, most_ready - 1),
    is_end_awaited = redis.call('EXISTS', order_waiting) == 1,
  }
end
