---@include ../platform/redis-time.lua
---@const RUN_WITHIN_MS ../platform/redis-deadline

--- Never later than by the clock of Redis: a process whose own clock is ahead would forget ids that others still need.
local function not_ahead(now)
  return math.min(now, time_now())
end

---@with account AccountId
---@with part integer
---@key events = events(account)
---@key bucket = movedIds(account, part)
---@param event EventId
---@param field text
---@reply is_listed boolean    whether its account's list has it
---@reply value text?          what is kept of it
function look_at_id(events, bucket, event, field)
  return reply {
    is_listed = redis.call('ZSCORE', events, event) ~= false,
    value = redis.call('HGET', bucket, field),
  }
end

---@guard
---@with account AccountId
---@with part integer
---@key events = events(account)
---@key bucket = movedIds(account, part)
---@param event EventId
---@param field text
---@param now integer
---@param kept_ms integer      ids that were accepted longer ago have lapsed
function guard_unsent(events, bucket, event, field, now, kept_ms)
  if redis.call('ZSCORE', events, event) then return stop() end
  local accepted_at = string.match(redis.call('HGET', bucket, field) or '', '^%a(%d+)')
  if accepted_at and tonumber(accepted_at) >= not_ahead(now) - kept_ms then return stop() end
  return reply()
end

---@guard
---@with account AccountId
---@key events = events(account)
---@key young = youngMoved(account)
---@param ids EventId[]
function guard_unrepeated(events, young, ids)
  for _, key in ipairs { events, young } do
    for _, score in ipairs(redis.call('ZMSCORE', key, unpack(ids))) do
      if score then return stop() end
    end
  end
  return reply()
end

---@with account AccountId
---@with part integer
---@key bucket = movedIds(account, part)
---@key young = youngMoved(account)
---@param field text
---@param value text?          nothing: no client publishes with its id again
---@param kept_ms digits
---@param now integer
---@param event EventId
---@param is_young boolean     what stored it may come again over a connection that broke
function keep_id(bucket, young, field, value, kept_ms, now, event, is_young)
  if value then
    redis.call('HSET', bucket, field, value)
    redis.call('PEXPIRE', bucket, kept_ms)
    local lapsed_until = not_ahead(now) - tonumber(kept_ms)
    -- Some for each one that is added: so an eighth of those that are kept have lapsed.
    local some = redis.call('HRANDFIELD', bucket, 8, 'WITHVALUES')
    for i = 1, #some, 2 do
      local accepted_at = tonumber(string.match(some[i + 1], '^%a(%d+)'))
      if accepted_at and accepted_at < lapsed_until then redis.call('HDEL', bucket, some[i]) end
    end
  end
  if is_young then
    -- No script runs later than its deadline. Twice that, as the nodes of a Cluster have clocks of their own.
    local repeated_within_ms = 2 * RUN_WITHIN_MS
    local moved_at = time_now()
    redis.call('ZADD', young, string.format('%d', moved_at), event)
    redis.call('ZREMRANGEBYSCORE', young, '-inf', string.format('%d', moved_at - repeated_within_ms))
    redis.call('PEXPIRE', young, repeated_within_ms)
  end
end

--- Its id stays taken.
---@with account AccountId
---@with part integer
---@key bucket = movedIds(account, part)
---@param field text
function erase_digest(bucket, field)
  local value = redis.call('HGET', bucket, field)
  if value then redis.call('HSET', bucket, field, string.match(value, '^%a%d+ ')) end
end
