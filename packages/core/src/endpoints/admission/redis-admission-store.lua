---@include ./redis-breaker.lua
---@include ../../platform/redis-time.lua
---@const LIMITS_KEPT_MS, RATE_WINDOW_MS ./limits
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

--- Admits an attempt, in one step that takes everything or nothing: the circuit breaker's probe, and a share of the rate limit. What
--- comes after it runs only if it is admitted.
---@guard
---@with endpoint EndpointId
---@key breaker = breaker(endpoint)
---@key recent = recentAttempts(endpoint)
---@key rate_waiting = rateWaiting(endpoint)
---@param now integer             the worker's
---@param rate_limit integer?
---@param attempt text            counts it
---@param lease_ms integer        for which it counts, if its worker dies
---@param has_waited boolean
---@reply kind 'admitted'|'breaker_open'|'rate_limited'
---@reply is_probe boolean        of `admitted`
---@reply open_until integer      of `breaker_open`
---@reply next_in_ms integer      of `rate_limited`
function admit_attempt(breaker, recent, rate_waiting, now, rate_limit, attempt, lease_ms, has_waited)
  local state = read_breaker(breaker)
  if state and state.open_until > now then return stop { kind = 'breaker_open', open_until = state.open_until } end
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
  if not state or state.open_until == 0 then return reply { kind = 'admitted' } end
  state.open_until = now + PROBE_MS
  state.is_probing = true
  write_breaker(breaker, state)
  return reply { kind = 'admitted', is_probe = true }
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
---@key access_token = accessToken(endpoint)
---@param rate_limit integer?
---@reply failures integer        of the breaker
---@reply open_until integer      the same
---@reply is_probing boolean      the same
---@reply free integer?           attempts that the rate limit allows now
---@reply next_in_ms integer
---@reply paused_until integer    while there is no access token; 0: there is one
function stand(breaker, recent, access_token, rate_limit)
  local now = time_now()
  local token = redis.call('HMGET', access_token, 'open_until', 'expires_at')
  local has_token = tonumber(token[2] or 0) > now
  if rate_limit then drop_expired_attempts(recent, now) end
  local state = read_breaker(breaker) or { failures = 0, open_until = 0 }
  return reply {
    failures = state.failures,
    open_until = state.open_until,
    is_probing = state.is_probing,
    free = rate_limit and math.max(rate_limit - redis.call('ZCARD', recent), 0),
    next_in_ms = next_free_in(recent, now),
    paused_until = has_token and 0 or tonumber(token[1] or 0),
  }
end
