---@include ../platform/redis-time.lua
---@record found_report {seen_at integer, text text?}

--- More than anybody runs.
local MOST_WORKERS = 1000

--- By Redis' clock, which is the same for all.
---@key workers = workers
---@key reports = workerReports
---@param id text
---@param report text
---@param good_for_ms integer
function save_report(workers, reports, id, report, good_for_ms)
  local now = time_now()
  redis.call('ZADD', workers, now, id)
  redis.call('HSET', reports, id, report)
  for _, gone in ipairs(redis.call('ZRANGEBYSCORE', workers, '-inf', now - good_for_ms)) do
    redis.call('ZREM', workers, gone)
    redis.call('HDEL', reports, gone)
  end
  redis.call('PEXPIRE', workers, good_for_ms)
  redis.call('PEXPIRE', reports, good_for_ms)
end

--- The latest first.
---@key workers = workers
---@key reports = workerReports
---@param good_for_ms integer
---@return found_report[]
function list_reports(workers, reports, good_for_ms)
  local since = string.format('(%d', time_now() - good_for_ms)
  local found = redis.call('ZREVRANGEBYSCORE', workers, '+inf', since, 'WITHSCORES', 'LIMIT', 0, MOST_WORKERS)
  local rows = {}
  for i = 1, #found, 2 do
    table.insert(rows, found_report { seen_at = tonumber(found[i + 1]), text = redis.call('HGET', reports, found[i]) })
  end
  return rows
end
