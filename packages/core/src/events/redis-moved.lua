---@include ./redis-event-head.lua
---@const ERASED_LOG_START ../domain/delivery-log

---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key claim = eventClaim(account, event)
---@reply text text?           nothing: it is gone
---@reply digest text?         of its claim
function see_event(event_key, claim)
  return reply {
    text = redis.call('GET', event_key),
    digest = redis.call('HGET', claim, 'digest'),
  }
end

--- When an event was listed in its account's list. Nothing: it is not there.
---@with account AccountId
---@key events = events(account)
---@param event EventId
---@return text?
function see_listed(events, event)
  return redis.call('ZSCORE', events, event)
end

---@with endpoint EndpointId
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@param event EventId
---@reply log text?
---@reply is_listed boolean    whether its endpoint's list has it: so it is if it has a log
function see_delivery(log, list, event)
  local text = redis.call('GET', log)
  return reply {
    log = text,
    is_listed = text ~= false or redis.call('ZSCORE', list, event) ~= false,
  }
end

---@with account AccountId
---@key moved_until = movedUntil(account)
---@key attempts_moved_until = attemptsMovedUntil(account)
---@param accepted_at digits
---@param attempt_at digits
function raise_moved_until(moved_until, attempts_moved_until, accepted_at, attempt_at)
  local times = { accepted_at, attempt_at }
  for i, key in ipairs { moved_until, attempts_moved_until } do
    if tonumber(redis.call('GET', key) or '0') < tonumber(times[i]) then redis.call('SET', key, times[i]) end
  end
end

--- For an event's delivery that has ended: not if it is about to be sent again, nor if something was recorded since its
--- log was read. A log only grows, and an erasure changes its start. `once` knows of it in a script that has looked already.
local function is_log_unchanged(pin, log, length, is_erased)
  if once[log] then return true end
  if redis.call('EXISTS', pin) == 1 or redis.call('STRLEN', log) ~= length then return false end
  local start = redis.call('GETRANGE', log, 0, #ERASED_LOG_START - 1)
  return (start == ERASED_LOG_START) == is_erased
end

---@guard
---@with endpoint EndpointId
---@with event EventId
---@key pin = pinned(endpoint, event)
---@key log = delivery(endpoint, event)
---@param length integer       of the log when it was read
---@param is_erased boolean    its responses were
function check_unchanged(pin, log, length, is_erased)
  if not is_log_unchanged(pin, log, length, is_erased) then return stop() end
  once[log] = true
  return reply()
end

---@with account AccountId
---@with event EventId
---@key receivers = receivers(account, event)
---@key moved = moved(account, event)
---@param endpoint EndpointId
---@param status EndStatus?    counted as moved
---@param kept_ms digits       the count
function release_receiver(receivers, moved, endpoint, status, kept_ms)
  if redis.call('ZREM', receivers, endpoint) == 0 or not status then return end
  redis.call('HINCRBY', moved, status, 1)
  redis.call('PEXPIRE', moved, kept_ms)
end

---@guard
---@with endpoint EndpointId
---@key pin = pinned(endpoint, event)
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@key order = order(endpoint)
---@key turn = turn(endpoint)
---@param length integer       of the log when it was read
---@param is_erased boolean    its responses were
---@param event EventId
function remove_delivery(pin, log, list, order, turn, length, is_erased, event)
  if not is_log_unchanged(pin, log, length, is_erased) then return stop() end
  once[log] = nil
  redis.call('UNLINK', log)
  redis.call('ZREM', list, event)
  if redis.call('EXISTS', order, turn) > 0 then
    redis.call('ZREM', order, event)
    if redis.call('GET', turn) == event then redis.call('DEL', turn) end
  end
  return reply()
end

--- Nil: there is no event.
--- Nil: there is no event.
local function is_payload_erased(event_key)
  local head = head_of(event_key)
  return head and is_head_erased(head)
end

---@guard
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key receivers = receivers(account, event)
---@key pin = pinnedEvent(account, event)
---@key claim = eventClaim(account, event)
---@key moved = moved(account, event)
---@key scheduled_for = scheduledFor(account, event)
---@param is_erased boolean    its payload was, when it was read
---@reply outcome 'dropped'|'needed'|'later'   later: its payload was erased since it was read, or it is about to be sent again
---@reply bytes integer        that are gone
function drop_event(event_key, receivers, pin, claim, moved, scheduled_for, is_erased)
  if redis.call('EXISTS', receivers, pin) > 0 then
    return stop { outcome = redis.call('EXISTS', receivers) == 1 and 'needed' or 'later' }
  end
  if (is_payload_erased(event_key) or false) ~= is_erased then return stop { outcome = 'later' } end
  local bytes = redis.call('STRLEN', event_key)
  redis.call('UNLINK', event_key, claim, moved, scheduled_for)
  return reply { outcome = 'dropped', bytes = bytes }
end

---@guard
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
function check_gone(event_key)
  if redis.call('EXISTS', event_key) == 1 then return stop() end
  return reply()
end

--- Whether the payload of an event was erased, or the event is gone.
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@return boolean
function is_event_erased(event_key)
  return is_payload_erased(event_key) ~= false
end

---@with account AccountId
---@key events = events(account)
---@param event EventId
function leave_list(events, event)
  redis.call('ZREM', events, event)
end
