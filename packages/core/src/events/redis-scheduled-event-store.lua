---@include ./redis-event-head.lua
---@include ../platform/redis-time.lua

-- The clock of Redis tells what is due: one clock for all processes.

--- With its body, unless there is an event of this id.
---@guard
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key scheduled_for = scheduledFor(account, event)
---@param kept_ms digits
---@param text text
---@param answer text?            the name of the idempotent response that tells of it
---@param endpoints text?         that it is aimed at, with spaces between them
function save_scheduled(event_key, scheduled_for, kept_ms, text, answer, endpoints)
  if not redis.call('SET', event_key, text, 'PX', kept_ms, 'NX') then return stop() end
  if answer or endpoints then
    redis.call('HSET', scheduled_for, 'answer', answer or '', 'to', endpoints or '')
    redis.call('PEXPIRE', scheduled_for, kept_ms)
  end
  return reply()
end

---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key scheduled_for = scheduledFor(account, event)
---@reply state 'waiting'|'due'|'cancelled'|'gone'
---@reply deliver_at integer      when it is due, or was. 0: there is none
---@reply bytes integer           of its body
---@reply answer text             as above; empty: there is none
function see_scheduled(event_key, scheduled_for)
  local head = head_of(event_key)
  if not head then return reply { state = 'gone', answer = '' } end
  return reply {
    state = state_of(head),
    deliver_at = tonumber(due_at_of(head)),
    bytes = redis.call('STRLEN', event_key) - #head - 1,
    answer = redis.call('HGET', scheduled_for, 'answer') or '',
  }
end

--- To another time, if it waits. Times have equally many digits for the next 250 years.
---@guard
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key claim = eventClaim(account, event)
---@key scheduled_for = scheduledFor(account, event)
---@param deliver_at integer
---@param kept_ms integer         after that
function move_scheduled(event_key, claim, scheduled_for, deliver_at, kept_ms)
  local head, now = head_of(event_key), time_now()
  if state_of(head) ~= 'waiting' or tonumber(time_of(head)) <= now then return stop() end
  redis.call('SETRANGE', event_key, place_of_time(head), string.format('%d', deliver_at))
  local kept = string.format('%d', math.max(deliver_at - now, 0) + kept_ms)
  for _, key in ipairs { event_key, claim, scheduled_for } do
    redis.call('PEXPIRE', key, kept)
  end
  return reply()
end

--- If it waits: then it is not sent at all.
---@guard
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key claim = eventClaim(account, event)
---@key scheduled_for = scheduledFor(account, event)
---@param cancelled_at digits     its place in lists
---@param kept_ms digits
function cancel_scheduled(event_key, claim, scheduled_for, cancelled_at, kept_ms)
  local head = head_of(event_key)
  if state_of(head) ~= 'waiting' or tonumber(time_of(head)) <= time_now() then return stop() end
  local body = redis.call('GETRANGE', event_key, #head, -1)
  redis.call('SET', event_key, cancelled_head(head, cancelled_at) .. body, 'PX', kept_ms)
  redis.call('PEXPIRE', claim, kept_ms)
  redis.call('UNLINK', scheduled_for)
  return reply()
end

--- Decides that it is sent, if it waits and is due: by the time that its shard saw, or by now, since the clocks of two nodes may
--- differ. Another time was set meanwhile if it is later than both.
---@with account AccountId
---@with event EventId
---@key event_key = event(account, event)
---@key scheduled_for = scheduledFor(account, event)
---@param due_at integer          as its shard saw it
---@reply state 'waiting'|'due'|'cancelled'|'gone'
---@reply deliver_at integer      of one that waits
---@reply text text               of any other
---@reply endpoints text          that it is aimed at, with spaces between them; empty: it is not
---@reply is_first boolean        it waited until now
function begin_scheduled(event_key, scheduled_for, due_at)
  local head = head_of(event_key)
  local state, is_first = state_of(head), false
  if state == 'gone' then return reply { state = state, text = '', endpoints = '' } end
  local text = redis.call('GET', event_key)
  if state == 'waiting' then
    local deliver_at = tonumber(time_of(head))
    if deliver_at > due_at and deliver_at > time_now() then
      return reply { state = state, deliver_at = deliver_at, text = '', endpoints = '' }
    end
    text = due_head(head) .. string.sub(text, #head + 1)
    redis.call('SET', event_key, text, 'KEEPTTL')
    state, is_first = 'due', true
  end
  return reply {
    state = state,
    text = text,
    endpoints = redis.call('HGET', scheduled_for, 'to') or '',
    is_first = is_first,
  }
end
