---@include ./redis-event-head.lua

--- A payload that was erased stays erased. The claim has a digest of the payload; an existing event holds its id.
---@change
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key claim = eventClaim(account, event)
---@param erased_at text
---@param head text?            to be put there if there is none
---@param kept_ms digits        how long that is kept
---@reply is_there boolean
---@reply bytes integer         that are gone, and were counted: those of an event that lapses are not
---@reply accepted_at integer
function erase_payload(event_key, claim, erased_at, head, kept_ms)
  if was_made() then return reply { is_there = true } end
  local known = head_of(event_key)
  if not known and not head then return reply {} end
  local before = has_event_lapsed(event_key) and 0 or redis.call('STRLEN', event_key)
  redis.call('UNLINK', claim)
  if not known then
    redis.call('SET', event_key, erased_head(head, erased_at) .. '\n', 'PX', kept_ms)
  elseif not is_head_erased(known) then
    redis.call('SET', event_key, erased_head(known, erased_at) .. '\n', 'KEEPTTL')
  end
  record_act()
  return reply {
    is_there = true,
    bytes = math.max(before - redis.call('STRLEN', event_key), 0),
    accepted_at = tonumber(time_of(known or head)),
  }
end

--- If another event was stored under this id before, that one stays and is sent, unless it waits for its time or was
--- cancelled, or was sent and lapses: then it is a guard. So it is if the event is to be there, and is not. Receivers are stored
--- by their ids alone: they are small, and a page can resume where the last one ended.
---@guard
---@with account AccountId
---@with event EventId
---@with is_stored boolean      with its receivers; otherwise they are added to those of an event that is there
---@key receivers = receivers(account, event)
---@key event_key = event(account, event) if is_stored
---@param kept_ms digits
---@param text text?            of the event; `undefined`: it is to be there
---@param endpoints EndpointId[]
---@param is_lost boolean       Redis has lost some of its deliveries: then one that lapses is sent again
function save_event(receivers, event_key, kept_ms, text, endpoints, is_lost)
  if event_key and not (text and redis.call('SET', event_key, text, 'PX', kept_ms, 'NX')) then
    local head = head_of(event_key)
    if not head or is_put_off(head) then return stop() end
    if has_event_lapsed(event_key) then
      if not is_lost then return stop() end
      stop_event_lapsing(event_key, kept_ms)
    end
  end
  if #endpoints > 0 then
    local scored = {}
    for i, endpoint in ipairs(endpoints) do
      scored[2 * i - 1], scored[2 * i] = 0, endpoint
    end
    redis.call('ZADD', receivers, unpack(scored))
    redis.call('PEXPIRE', receivers, kept_ms)
  end
  return reply()
end

--- One command, for lists that read many events. An event of another type has no receivers.
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key receivers = receivers(account, event)
---@param event_type text?      the only one that matters
---@param first text            the receiver to begin at
---@param most digits
---@reply start text            with the head; empty: the event is gone
---@reply endpoints EndpointId[]
function open_event(event_key, receivers, event_type, first, most)
  local start = start_of(event_key)
  local head = string.match(start, '^[^\n]+')
  if event_type and not (head and type_of(head) == event_type) then return reply { start = start } end
  return reply {
    start = start,
    endpoints = redis.call('ZREVRANGEBYLEX', receivers, first, '-', 'LIMIT', 0, most),
  }
end

--- It never shortens a life. An event that lapses is not kept: nothing would move it again.
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key receivers = receivers(account, event)
---@param kept_ms integer       from now on
function keep_event(event_key, receivers, kept_ms)
  if has_event_lapsed(event_key) then return end
  for _, key in ipairs { event_key, receivers } do
    local left = redis.call('PTTL', key)
    if left > 0 and left < kept_ms then redis.call('PEXPIRE', key, kept_ms) end
  end
end

--- In one step: an event may move to the history, and come back, at any moment.
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key receivers = receivers(account, event)
---@key moved = moved(account, event)
---@reply start text            with the head; empty: the event is gone
---@reply delivery_count integer
function read_counted(event_key, receivers, moved)
  local count = redis.call('ZCARD', receivers)
  for _, more in ipairs(redis.call('HVALS', moved)) do
    count = count + tonumber(more)
  end
  return reply { start = start_of(event_key), delivery_count = count }
end

--- Whether the history has it with all its deliveries.
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@return boolean
function has_lapsed(event_key)
  return has_event_lapsed(event_key)
end

--- Gives the start of an event, with its head. Empty: it is gone.
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@return text
function read_start(event_key)
  return start_of(event_key)
end
