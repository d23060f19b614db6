---@const jobFields ./bullmq-layout

--- For scripts that change which of an endpoint's deliveries are held: once per change, with the present number. All of them
--- count for one reason, that of the last one held; without a reason it stays.
---
--- `counted` has the share of each endpoint in `counts`, so a sum can't drift: the endpoint's next change corrects an error, or its
--- next recount.
local function count_held(counts, counted, endpoint, left, reason)
  local before, many = string.match(redis.call('HGET', counted, endpoint) or '', '^(%S+) (%d+)$')
  reason = reason or before
  if reason == before and tonumber(many) == left then return end
  if before and redis.call('HINCRBY', counts, before, -tonumber(many)) == 0 then redis.call('HDEL', counts, before) end
  if left == 0 or not reason then
    redis.call('HDEL', counted, endpoint)
  else
    redis.call('HSET', counted, endpoint, string.format('%s %d', reason, left))
    redis.call('HINCRBY', counts, reason, left)
  end
end

--- A lane counts while it is held, and so do those behind the first one of a line that is closed.
---@key held
---@key lines
---@key lane
---@key lane_job
---@key counts
---@key counted
---@param endpoint text
function recount_held(held, lines, lane, lane_job, counts, counted, endpoint)
  local is_lane_held = redis.call('HEXISTS', lane_job, jobFields.holds) == 1
  local behind = tonumber(redis.call('HGET', lines, '#held') or 0) + (is_lane_held and redis.call('ZCARD', lane) or 0)
  count_held(counts, counted, endpoint, redis.call('ZCARD', held) + behind)
end
