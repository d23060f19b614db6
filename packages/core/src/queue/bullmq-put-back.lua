---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@const PRIORITY_SCORE, jobFields ./bullmq-layout

-- For scripts that give jobs their positions, as BullMQ's own do.

--- The account that the data of a delivery's job names, or nil.
local function account_in(data)
  return string.match(data or '', '"account_id":"([%w_-]+)"')
end

--- For some jobs that are in no list and whose hashes have their priorities.
local function put_in_place(shard, jobs, priorities)
  -- What a script that takes jobs has counted before, if it runs together with this one.
  if shard.sorted then shard.sorted = shard.sorted + #jobs end
  local last, scored = redis.call('INCRBY', shard.counter, #jobs), {}
  for i, job in ipairs(jobs) do
    local count = last - #jobs + i
    scored[#scored + 1] = priorities[i] * PRIORITY_SCORE + count % PRIORITY_SCORE
    scored[#scored + 1] = job
    if #scored == 2000 or i == #jobs then
      redis.call('ZADD', shard.prioritized, unpack(scored))
      scored = {}
    end
  end
end

--- At the end.
local function wake_workers(shard)
  at_end('wake workers of ' .. shard.base, function()
    local limits = redis.call('HMGET', shard.meta, 'paused', 'concurrency')
    local has_room = not limits[2] or redis.call('LLEN', shard.active) < tonumber(limits[2])
    if not limits[1] and has_room then redis.call('ZADD', shard.marker, 0, '0') end
  end)
end

--- A delayed job waits again, at its place in the fair order.
local function put_back(shard, job, account, flow)
  local priority = priority_of(shard, account, flow)
  put_in_place(shard, { job }, { priority })
  local now = string.format('%d', time_now())
  redis.call('HSET', shard.base .. job, 'priority', priority, 'delay', 0, jobFields.waitingSince, now)
  redis.call('XADD', shard.events, 'MAXLEN', '~', 10000, '*', 'event', 'waiting', 'jobId', job, 'prev', 'delayed')
  wake_workers(shard)
end
