---@include ./redis-event-head.lua
---@include ./redis-log-lines.lua

local function pin(pinned, pinned_ms)
  redis.call('INCR', pinned)
  redis.call('PEXPIRE', pinned, pinned_ms)
end

---@with account AccountId
---@with event EventId
---@key pinned = pinnedEvent(account, event)
---@key event_key = event(account, event)
---@key moved = moved(account, event)
---@param pinned_ms digits
---@reply is_here boolean
---@reply have_some_moved boolean   some of its deliveries
function pin_event(pinned, event_key, moved, pinned_ms)
  pin(pinned, pinned_ms)
  return reply {
    is_here = redis.call('EXISTS', event_key) == 1 and not has_event_lapsed(event_key),
    have_some_moved = redis.call('EXISTS', moved) == 1,
  }
end

--- Gives whether the delivery is here. One that lapses is away, whether its event counts it as moved or not yet.
---@with endpoint EndpointId
---@key pinned = pinned(endpoint, event)
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@param pinned_ms digits
---@param event EventId
---@return 'here'|'away'|'unknown'
function pin_delivery(pinned, log, list, pinned_ms, event)
  pin(pinned, pinned_ms)
  if redis.call('ZSCORE', list, event) then return 'here' end
  if redis.call('EXISTS', log) == 0 then return 'unknown' end
  return has_log_lapsed(log) and 'away' or 'here'
end

--- What others have pinned stays so.
---@key pinned
function unpin(pinned)
  if redis.call('EXISTS', pinned) == 1 and redis.call('DECR', pinned) <= 0 then redis.call('DEL', pinned) end
end

--- Gives whether it is back: not if it is here. One that lapses stays, with its counts.
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key moved = moved(account, event)
---@param text text
---@param kept_ms digits
---@param statuses text[]     of its deliveries that have moved
---@param counts digits[]     of each status
---@return boolean
function return_event(event_key, moved, text, kept_ms, statuses, counts)
  if not redis.call('SET', event_key, text, 'PX', kept_ms, 'NX') then
    if not has_event_lapsed(event_key) then return false end
    stop_event_lapsing(event_key, kept_ms)
    return true
  end
  redis.call('DEL', moved)
  for i, status in ipairs(statuses) do
    redis.call('HSET', moved, status, counts[i])
  end
  redis.call('PEXPIRE', moved, kept_ms)
  return true
end

--- Its delivery is not counted as moved any more.
---@with account AccountId
---@with event EventId
---@key receivers = receivers(account, event)
---@key moved = moved(account, event)
---@param endpoint EndpointId
---@param kept_ms digits
---@param status text         of its delivery in the history
function return_receiver(receivers, moved, endpoint, kept_ms, status)
  if redis.call('ZADD', receivers, 'NX', 0, endpoint) == 0 then return end
  redis.call('PEXPIRE', receivers, kept_ms)
  if redis.call('HINCRBY', moved, status, -1) <= 0 then redis.call('HDEL', moved, status) end
end

--- Gives whether it is back: not if there is one. One that lapses stays.
---@with endpoint EndpointId
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@param event EventId
---@param text text
---@param kept_ms digits
---@param created_at digits
---@return boolean
function return_log(log, list, event, text, kept_ms, created_at)
  local has_lapsed = redis.call('DEL', lapsing_key_of(log)) == 1
  if not redis.call('SET', log, text, 'PX', kept_ms, 'NX') then
    if not has_lapsed then return false end
    redis.call('PEXPIRE', log, kept_ms)
  end
  redis.call('ZADD', list, 'NX', created_at, event)
  redis.call('PEXPIRE', list, kept_ms)
  return true
end

--- In the list of its account.
---@with account AccountId
---@key events = events(account)
---@param event EventId
---@param created_at digits
---@param kept_ms digits
function list_event_again(events, event, created_at, kept_ms)
  redis.call('ZADD', events, 'NX', created_at, event)
  redis.call('PEXPIRE', events, kept_ms)
end
