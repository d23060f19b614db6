---@include ./redis-event-head.lua
---@include ./redis-log-lines.lua
---@const ERASED_LOG_START ../domain/delivery-fact

---@record seen_event {text text?, digest text?, failure text?}
---@record seen_place {score text?, failure text?}
---@record seen_delivery {log text?, is_listed boolean, failure text?}

--- A key of an unexpected type must not stop all others: its error is given beside nothing.
local function found_by(...)
  local found = redis.pcall(...)
  if type(found) == 'table' then return nil, found.err end
  return found or nil
end

--- Events, and the digests of their claims. Nothing: it is gone.
---@keys event_keys            each event, and behind it its claim
---@return seen_event[]
function see_events(event_keys)
  local seen = {}
  for i = 1, #event_keys, 2 do
    local text, failure = found_by('GET', event_keys[i])
    local digest, other = found_by('HGET', event_keys[i + 1], 'digest')
    seen[#seen + 1] = seen_event { text = text, digest = digest, failure = failure or other }
  end
  return seen
end

--- When events were listed in their accounts' lists. Nothing: it is not there.
---@keys lists                 of each event
---@param events EventId[]
---@return seen_place[]
function see_listed(lists, events)
  local seen = {}
  for i, event in ipairs(events) do
    local score, failure = found_by('ZSCORE', lists[i], event)
    seen[i] = seen_place { score = score, failure = failure }
  end
  return seen
end

--- The logs of deliveries, and whether their endpoints' lists have them: so it is if there is a log.
---@keys log_keys              each log, and behind it its endpoint's list
---@param events EventId[]
---@return seen_delivery[]
function see_deliveries(log_keys, events)
  local seen = {}
  for i, event in ipairs(events) do
    local log, failure = found_by('GET', log_keys[2 * i - 1])
    local score, other
    if not log then
      score, other = found_by('ZSCORE', log_keys[2 * i], event)
    end
    seen[i] = seen_delivery { log = log, is_listed = (log or score) ~= nil, failure = failure or other }
  end
  return seen
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

--- Nil: there is no event.
local function is_payload_erased(event_key)
  local head = head_of(event_key)
  return head and is_head_erased(head)
end

--- Lets the log of a delivery expire, and takes it off its lists: not if something was recorded since it was read, nor if it is
--- about to be sent again. A log only grows, and an erasure changes its start. From then on nothing is appended to it. Gives
--- whether it lapses, and whether it had not before.
local function let_log_lapse(pin, log, list, length, is_erased, event, lapse_ms)
  if redis.call('EXISTS', pin) == 1 or redis.call('STRLEN', log) ~= length then return false, false end
  local start = redis.call('GETRANGE', log, 0, #ERASED_LOG_START - 1)
  if (start == ERASED_LOG_START) ~= is_erased then return false, false end
  redis.call('ZREM', list, event)
  -- The mark comes after the log's own time: it is there for as long.
  local is_first = redis.call('PEXPIRE', log, lapse_ms) == 1
    and not redis.call('SET', lapsing_key_of(log), '', 'PX', lapse_ms, 'GET')
  return true, is_first
end

-- The counts of its deliveries are there for as long as the event, and a little longer.
local COUNTS_LONGER_MS = 10000

--- Takes an endpoint off the receivers of its event, and counts its delivery. With the last one the event lapses as well. Gives
--- the outcome, and the bytes of the event.
local function let_event_lapse(
  event_key,
  receivers,
  claim,
  moved,
  scheduled_for,
  endpoint,
  status,
  is_erased,
  kept_ms,
  lapse_ms
)
  local is_released = endpoint and redis.call('ZREM', receivers, endpoint) == 1
  if is_released and status then redis.call('HINCRBY', moved, status, 1) end
  local is_needed = redis.call('EXISTS', receivers) == 1
  local is_erased_now = is_payload_erased(event_key)
  if is_needed or (is_erased_now or false) ~= is_erased then
    -- An event of this id had lapsed, and was stored again before its counts were gone.
    if is_needed and redis.call('HDEL', moved, 'lapsing') == 1 then redis.call('PEXPIRE', event_key, kept_ms) end
    if is_released then redis.call('PEXPIRE', moved, kept_ms) end
    return is_needed and 'needed' or 'later', 0
  end
  -- A number: all of them are added up. Without an event the mark would be one of an event that is stored later.
  if is_erased_now ~= nil then redis.call('HSET', moved, 'lapsing', 0) end
  redis.call('PEXPIRE', moved, lapse_ms + COUNTS_LONGER_MS)
  for _, key in ipairs { event_key, claim, scheduled_for } do
    redis.call('PEXPIRE', key, lapse_ms)
  end
  return 'lapsed', redis.call('STRLEN', event_key)
end

---@guard
---@with endpoint EndpointId
---@key pin = pinned(endpoint, event)
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@param length integer       of the log when it was read
---@param is_erased boolean    its responses were
---@param event EventId
---@param lapse_ms integer
---@reply is_first boolean     it had not lapsed before
function lapse_delivery(pin, log, list, length, is_erased, event, lapse_ms)
  local lapses, is_first = let_log_lapse(pin, log, list, length, is_erased, event, lapse_ms)
  if not lapses then return stop() end
  return reply { is_first = is_first }
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
---@param endpoint EndpointId?  nothing: the event has no deliveries
---@param status EndStatus?     of its delivery
---@param is_erased boolean     the event's payload was, when it was read
---@param kept_ms digits        the counts
---@param lapse_ms integer
---@reply outcome 'lapsed'|'needed'|'later'   later: its payload was erased since it was read, or it is about to be sent again
---@reply bytes integer         of the event
function lapse_event(
  event_key,
  receivers,
  pin,
  claim,
  moved,
  scheduled_for,
  endpoint,
  status,
  is_erased,
  kept_ms,
  lapse_ms
)
  if redis.call('EXISTS', pin) == 1 then return stop { outcome = 'later' } end
  local outcome, bytes =
    let_event_lapse(event_key, receivers, claim, moved, scheduled_for, endpoint, status, is_erased, kept_ms, lapse_ms)
  if outcome ~= 'lapsed' then return stop { outcome = outcome } end
  return reply { outcome = outcome, bytes = bytes }
end

---@record lapsed_row {outcome 'lapsed'|'needed'|'later'|'changed', is_first boolean, was_listed boolean, bytes integer?, failure text?}

local function lapse_row(row, list, kept_ms, lapse_ms)
  local account, event, endpoint = row.account, row.event, row.endpoint
  local is_first = false
  -- First: of an event that stays, no delivery lapses that it does not count as moved.
  if redis.call('EXISTS', keys.pinnedEvent(account, event)) == 1 then return lapsed_row { outcome = 'later' } end
  if endpoint then
    if redis.call('EXISTS', unpack(row.jobs)) > 0 then return lapsed_row { outcome = 'changed' } end
    for _, held in ipairs(row.holds) do
      if redis.call('ZSCORE', held, event) then return lapsed_row { outcome = 'changed' } end
    end
    for _, batches in ipairs(row.batches) do
      if redis.call('HEXISTS', batches, event) == 1 then return lapsed_row { outcome = 'changed' } end
    end
    local lapses
    lapses, is_first = let_log_lapse(
      keys.pinned(endpoint, event),
      keys.delivery(endpoint, event),
      keys.deliveries(endpoint),
      row.length,
      row.is_log_erased,
      event,
      lapse_ms
    )
    if not lapses then return lapsed_row { outcome = 'changed' } end
  end
  local outcome, bytes = let_event_lapse(
    keys.event(account, event),
    keys.receivers(account, event),
    keys.eventClaim(account, event),
    keys.moved(account, event),
    keys.scheduledFor(account, event),
    endpoint,
    row.status,
    row.is_erased,
    kept_ms,
    lapse_ms
  )
  local was_listed = outcome == 'lapsed' and redis.call('ZREM', list, event) == 1
  return lapsed_row { outcome = outcome, is_first = is_first, was_listed = was_listed, bytes = bytes }
end

--- On one server, all that takes several steps in a Cluster: for each delivery whether it has no job and is not held, then the
--- steps above. One with a key of an unexpected type fails alone.
---@keys lists                 of each one's account
---@param rows {account AccountId, event EventId, endpoint EndpointId?, jobs text[], holds text[], batches text[], length integer, is_log_erased boolean, status EndStatus?, is_erased boolean}[]
---@param kept_ms digits
---@param lapse_ms integer
---@return lapsed_row[]
function lapse_all(lists, rows, kept_ms, lapse_ms)
  local lapsed = {}
  for i, row in ipairs(rows) do
    local is_good, result = pcall(lapse_row, row, lists[i], kept_ms, lapse_ms)
    if not is_good then
      local failure = type(result) == 'table' and result.err or tostring(result)
      -- Such as a lack of memory: it concerns all.
      if not string.find(failure, 'WRONGTYPE', 1, true) then error(result, 0) end
      result = lapsed_row { outcome = 'changed', failure = failure }
    end
    lapsed[i] = result
  end
  return lapsed
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
---@return boolean             it was there
function leave_list(events, event)
  return redis.call('ZREM', events, event) == 1
end
