---@const healthFields ./attempt-tally
---@record refusal {number integer, error text}

local function add_durations(known, added)
  for letter, count in string.gmatch(added, '(%a)(%d+)') do
    local before, its_count, after = string.match(known, '^(.*)' .. letter .. '(%d+)(.*)$')
    if its_count then
      known = before .. letter .. string.format('%d', its_count + count) .. after
    else
      known = known .. letter .. count
    end
  end
  return known
end

local function drop_hours_before(health, first_kept)
  for _, field in ipairs(redis.call('HKEYS', health)) do
    local hour = string.match(field, '^[sfd](%d+)$')
    if hour and tonumber(hour) < first_kept then redis.call('HDEL', health, field) end
  end
end

--- The limit of this worker beside those of others: `worker:limit:when` of each.
local function with_limit(known, worker, limit, now, too_old)
  local limits = worker .. ':' .. limit .. ':' .. now
  for other, its_limit, at in string.gmatch(known or '', '(%w+):(%d+):(%d+)') do
    if other ~= worker and tonumber(at) > too_old then
      limits = limits .. ' ' .. other .. ':' .. its_limit .. ':' .. at
    end
  end
  return limits
end

--- A later success of another worker stays. Old hours go when a new one begins, and the record is kept for longer. One command
--- reads all that changes, and one writes it, since an event may have ten thousand receivers. Gives the endpoints that have
--- failed because of their data, by their numbers from 1 on.
---@keys healths                  of each endpoint
---@param first_kept integer      the oldest hour to keep
---@param kept_ms digits
---@param worker text
---@param now digits
---@param too_old integer         no limit of a worker counts that is as old
---@param last_successes digits?[]   of each endpoint, as the next four
---@param last_failures digits?[]
---@param last_failed text?[]     which attempts those were; absent: not known
---@param limits digits?[]        absent: not known
---@param hour_counts integer[]   how many hours: those of the first endpoint come first
---@param hours digits[]
---@param successes integer[]     of each hour, as the next two
---@param failures integer[]
---@param durations text[]
---@return refusal[]
function add_to_health(
  healths,
  first_kept,
  kept_ms,
  worker,
  now,
  too_old,
  last_successes,
  last_failures,
  last_failed,
  limits,
  hour_counts,
  hours,
  successes,
  failures,
  durations
)
  local function add(health, number, first, last)
    local fields, n = { healthFields.limits, healthFields.lastSuccess, healthFields.lastFailure }, 3
    for i = first, last do
      fields[n + 1], fields[n + 2], fields[n + 3] = 's' .. hours[i], 'f' .. hours[i], 'd' .. hours[i]
      n = n + 3
    end
    local known, begins_hour = redis.call('HMGET', health, unpack(fields)), n == 3
    local changed, success, failure, limit = {}, last_successes[number], last_failures[number], limits[number]
    if limit then changed = { fields[1], with_limit(known[1], worker, limit, now, too_old) } end
    n = #changed
    if success and tonumber(success) > tonumber(known[2] or 0) then
      changed[n + 1], changed[n + 2], n = fields[2], success, n + 2
    end
    if failure and tonumber(failure) > tonumber(known[3] or 0) then
      changed[n + 1], changed[n + 2], n = fields[3], failure, n + 2
      if last_failed[number] then
        changed[n + 1], changed[n + 2], n = healthFields.lastFailed, last_failed[number], n + 2
      end
    end
    local at = 4
    for i = first, last do
      local its_successes, its_failures, its_durations = known[at], known[at + 1], known[at + 2]
      begins_hour = begins_hour or not its_successes
      changed[n + 1], changed[n + 2] = fields[at], tonumber(its_successes or 0) + successes[i]
      changed[n + 3], changed[n + 4] = fields[at + 1], tonumber(its_failures or 0) + failures[i]
      changed[n + 5] = fields[at + 2]
      changed[n + 6] = its_durations and add_durations(its_durations, durations[i]) or durations[i]
      n, at = n + 6, at + 3
    end
    if n > 0 then redis.call('HSET', health, unpack(changed)) end
    if not begins_hour then return end
    drop_hours_before(health, first_kept)
    redis.call('PEXPIRE', health, kept_ms)
  end

  local failed, first = {}, 1
  for i, health in ipairs(healths) do
    local last = first + hour_counts[i] - 1
    local ok, err = pcall(add, health, i, first, last)
    if not ok then
      table.insert(failed, refusal { number = i, error = type(err) == 'table' and err.err or tostring(err) })
    end
    first = last + 1
  end
  return failed
end
