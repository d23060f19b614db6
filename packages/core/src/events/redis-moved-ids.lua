---@include ../platform/redis-time.lua

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
---@param ids EventId[]
function guard_unrepeated(events, ids)
  for _, score in ipairs(redis.call('ZMSCORE', events, unpack(ids))) do
    if score then return stop() end
  end
  return reply()
end

---@with account AccountId
---@with part integer
---@key bucket = movedIds(account, part)
---@param field text
---@param value text
---@param kept_ms digits
---@param now integer
function keep_id(bucket, field, value, kept_ms, now)
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

--- Its id stays taken.
---@with account AccountId
---@with part integer
---@key bucket = movedIds(account, part)
---@param field text
function erase_digest(bucket, field)
  local value = redis.call('HGET', bucket, field)
  if value then redis.call('HSET', bucket, field, string.match(value, '^%a%d+ ')) end
end
