---@include ../accounts/redis-usage-store.lua
---@include ../platform/redis-time.lua
---@const letters ../domain/delivery-line

---@record pruned_entry {place integer, event EventId, created_at integer, log_bytes integer?}

-- More than one at a time, so that an index shrinks when the retention was reduced. Few, so that Redis is not held up.
local pruned_at_once = 10

--- Of an index, when each of some entries may go: they are shown for longer than their age says.
local function kept_longer_of(index)
  local owner = string.match(index, '{(.*)}')
  return keys.keptLonger(owner)
end

local function stays_longer(index, event, now)
  local kept = kept_longer_of(index)
  local kept_until = redis.call('ZSCORE', kept, event)
  if not kept_until then return false end
  if tonumber(kept_until) > now then return true end
  redis.call('ZREM', kept, event)
  return false
end

--- A log ends with the time of the next attempt, with a request, or with what the next attempt sends, as long as its delivery
--- is open.
local function is_open_after(tail, log)
  local last = string.match(tail, '"([^"]+)":%d+}\n$')
  if last == letters.nextAttemptAt or last == letters.time then return true end
  -- Of what was made before. The version before wrote it with the second one.
  if string.find(tail, '{"[' .. letters.version .. letters.timings .. ']":%d+}\n$') then return true end
  -- Attempts may end like this, too.
  if last ~= letters.version then return false end
  return string.find('\n' .. redis.call('GET', log), '\n{"' .. letters.madeBody .. '":[^\n]*\n$') ~= nil
end

--- Whether a delivery is open, and the bytes of its log. Nil: there is none yet.
local function look_at_log(log, created_at, kept_since)
  local tail = redis.call('GETRANGE', log, -24, -1)
  if tail == '' then return created_at >= kept_since end
  return is_open_after(tail, log), redis.call('STRLEN', log)
end

--- Makes room in an index that has got some entries. How old others may be, Redis' clock says: an API or a worker whose own
--- clock is ahead would remove all that is there. An entry that is old when it comes, such as that of an event which waited
--- for long on the queue, stays as long as those from its time on. A delivery stays as long as it is open. If the oldest entry
--- stays, others of those that are too old or too many are tried, by chance: so they go, however many stay. Scripts that run as
--- one look for old entries once. The removed entries are added to `pruned`.
local function prune_index(pruned, place, index, entries, newest, most, kept_ms, has_logs)
  local is_first = at_end('expire ' .. index, function()
    redis.call('PEXPIRE', index, kept_ms)
  end)
  local excess = redis.call('ZCARD', index) - most
  if excess <= 0 and not is_first then return end
  local now = time_now()
  local kept_since = math.min(now, newest) - tonumber(kept_ms)
  local at, candidates = 0, nil
  for _ = 1, pruned_at_once * entries do
    local oldest = redis.call('ZRANGE', index, at, at, 'WITHSCORES')
    local event, created_at = oldest[1], tonumber(oldest[2])
    if not event or (excess <= 0 and created_at >= kept_since) then return end
    local is_open, bytes, log = false, nil, nil
    if has_logs then
      local endpoint = string.match(index, '{(.*)}')
      log = keys.delivery(endpoint, event)
      is_open, bytes = look_at_log(log, created_at, kept_since)
    end
    if is_open or stays_longer(index, event, now) then
      if not candidates then
        math.randomseed(now)
        local too_old = redis.call('ZCOUNT', index, '-inf', '(' .. string.format('%d', kept_since))
        candidates = math.max(excess, too_old)
      end
    else
      redis.call('ZREM', index, event)
      if bytes then redis.call('UNLINK', log) end
      pruned[#pruned + 1] = pruned_entry { place = place, event = event, created_at = created_at, log_bytes = bytes }
      excess = excess - 1
      candidates = candidates and candidates - 1
    end
    if candidates then
      if candidates < 1 then return end
      at = math.random(0, candidates - 1)
    end
  end
end

--- One that is shown for some time from now, however old it is. It may have left the index already.
---@key index
---@param event EventId
---@param created_at digits
---@param kept_ms digits
function keep_listed(index, event, created_at, kept_ms)
  local kept = kept_longer_of(index)
  redis.call('ZADD', index, 'NX', created_at, event)
  redis.call('ZADD', kept, string.format('%d', time_now() + tonumber(kept_ms)), event)
  for _, key in ipairs { index, kept } do
    if redis.call('PTTL', key) < tonumber(kept_ms) then redis.call('PEXPIRE', key, kept_ms) end
  end
end

--- Into the lists of endpoints. The log of an ended delivery is removed together with its entry.
---@keys indexes
---@param newest integer        the time of the newest entry
---@param most integer          how many entries stay
---@param kept_ms digits
---@param counts integer[]      how many entries each index gets
---@param events EventId[]      those of all, one index after the other
---@param times digits[]        of each event
---@return pruned_entry[]
function add_to_indexes(indexes, newest, most, kept_ms, counts, events, times)
  local pruned, at = {}, 0
  for place, index in ipairs(indexes) do
    local count = counts[place]
    if count == 1 then
      redis.call('ZADD', index, 'NX', times[at + 1], events[at + 1])
    else
      local entries = {}
      for i = 1, count do
        entries[2 * i - 1], entries[2 * i] = times[at + i], events[at + i]
      end
      redis.call('ZADD', index, 'NX', unpack(entries))
    end
    prune_index(pruned, place, index, count, newest, most, kept_ms, true)
    at = at + count
  end
  return pruned
end

--- The same for an account's list. Each new entry counts for the account, with its deliveries.
---@with account AccountId
---@key index = events(account)
---@key usage = usage(account)
---@key used = usedBytes(account)
---@param newest integer
---@param most integer
---@param kept_ms digits
---@param counted_ms integer     how long the usage counts
---@param lapses_at digits       when it does not any more
---@param events EventId[]
---@param times digits[]         of each event
---@param event_bytes integer[]
---@param delivery_bytes integer[]
---@return pruned_entry[]
function add_counted(
  index,
  usage,
  used,
  newest,
  most,
  kept_ms,
  counted_ms,
  lapses_at,
  events,
  times,
  event_bytes,
  delivery_bytes
)
  local pruned, of_events, of_deliveries = {}, 0, 0
  for i, event in ipairs(events) do
    if redis.call('ZADD', index, 'NX', times[i], event) == 1 then
      of_events, of_deliveries = of_events + event_bytes[i], of_deliveries + delivery_bytes[i]
    end
  end
  count_usage(usage, used, 'events:' .. lapses_at, of_events, counted_ms)
  count_usage(usage, used, 'deliveries:' .. lapses_at, of_deliveries, counted_ms)
  prune_index(pruned, 1, index, #events, newest, most, kept_ms, false)
  return pruned
end
