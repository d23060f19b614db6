---@include ./redis-former-head.lua
---@const EVENT_HEAD_BYTES ../domain/event

-- The head of an event is its first line: JSON, as `event-text.ts` writes it. Scripts look for a member as text. It stands in no
-- value, since JSON has a backslash before each quotation mark there. A text that begins with a digit has the former form.

local function start_of(event_key)
  return redis.call('GETRANGE', event_key, 0, EVENT_HEAD_BYTES - 1)
end

--- Nil: there is no event.
local function head_of(event_key)
  return string.match(start_of(event_key), '^[^\n]+')
end

--- Whether the history has an event with all its deliveries. It is about to expire here.
local function has_event_lapsed(event_key)
  local account, event = string.match(event_key, '{(.-)/(.*)}$')
  return redis.call('HEXISTS', keys.moved(account, event), 'lapsing') == 1 and redis.call('EXISTS', event_key) == 1
end

--- Keeps an event that lapses, with its counts, for it is to be sent again.
local function stop_event_lapsing(event_key, kept_ms)
  local account, event = string.match(event_key, '{(.-)/(.*)}$')
  local moved = keys.moved(account, event)
  redis.call('HDEL', moved, 'lapsing')
  redis.call('PEXPIRE', moved, kept_ms)
  redis.call('PEXPIRE', event_key, kept_ms)
end

local function has_member(head, text)
  return string.find(head, text, 1, true) ~= nil
end

--- Whether an event was published to be sent later, and waits for its time or was cancelled.
local function is_put_off(head)
  if is_former(head) then return is_former_put_off(head) end
  return has_member(head, '"state":"waiting"') or has_member(head, '"state":"cancelled"')
end

--- What an id stands for: see `ScheduledState`.
local function state_of(head)
  if not head then return 'gone' end
  if not is_put_off(head) then return 'due' end
  if is_former(head) then return former_state_of(head) end
  return has_member(head, '"state":"waiting"') and 'waiting' or 'cancelled'
end

local function is_head_erased(head)
  if is_former(head) then return is_former_erased(head) end
  return has_member(head, '"erased_at":')
end

--- Its place in time.
local function time_of(head)
  return is_former(head) and former_time_of(head) or string.match(head, '"at":(%d+)')
end

--- Where its place in time stands: from 0 on.
local function place_of_time(head)
  return is_former(head) and 0 or select(2, string.find(head, '"at":', 1, true))
end

local function type_of(head)
  return is_former(head) and former_type_of(head) or string.match(head, '"type":"([^"]*)"')
end

--- When it is due, or would have been.
local function due_at_of(head)
  if is_former(head) then return former_due_at_of(head) end
  return string.match(head, '"deliver_at":(%d+)') or time_of(head)
end

local function erased_head(head, erased_at)
  if is_former(head) then return former_erased_head(head, erased_at) end
  return string.sub(head, 1, -2) .. ',"erased_at":' .. erased_at .. '}'
end

--- Of one that waits.
local function due_head(head)
  if is_former(head) then return former_due_head(head) end
  return (string.gsub(head, '"state":"waiting"', '"state":"due"', 1))
end

--- Of one that waits.
local function cancelled_head(head, cancelled_at)
  if is_former(head) then return former_cancelled_head(head, cancelled_at) end
  local due_at = time_of(head)
  local changed = string.gsub(head, '"at":%d+', '"at":' .. cancelled_at, 1)
  return (string.gsub(changed, '"state":"waiting"', '"state":"cancelled","deliver_at":' .. due_at, 1))
end
