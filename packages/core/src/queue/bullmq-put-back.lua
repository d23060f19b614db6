---@include ../platform/redis-time.lua
---@const PRIORITY_SCORE, jobFields ./bullmq-layout

-- For scripts that give jobs their positions, as BullMQ's own do.

--- The account that the data of a delivery's job names, or nil.
local function account_in(data)
  return string.match(data or '', '"account_id":"([%w_-]+)"')
end

--- The names of a queue's keys. `events` may be absent where no job is put back.
local function queue_of(base, prioritized, counter, meta, active, marker, events)
  return {
    base = base,
    prioritized = prioritized,
    counter = counter,
    meta = meta,
    active = active,
    marker = marker,
    events = events,
  }
end

--- For some jobs that are in no list and whose hashes have their priorities.
local function put_in_place(queue, jobs, priorities)
  -- What a script that takes jobs has counted before, if it runs together with this one.
  local counted = once[queue.base]
  if counted then counted.sorted = counted.sorted + #jobs end
  local last, scored = redis.call('INCRBY', queue.counter, #jobs), {}
  for i, job in ipairs(jobs) do
    local count = last - #jobs + i
    scored[#scored + 1] = priorities[i] * PRIORITY_SCORE + count % PRIORITY_SCORE
    scored[#scored + 1] = job
    if #scored == 2000 or i == #jobs then
      redis.call('ZADD', queue.prioritized, unpack(scored))
      scored = {}
    end
  end
end

--- For a delayed job.
local function put_back(queue, job, priority)
  put_in_place(queue, { job }, { priority })
  local now = string.format('%d', time_now())
  redis.call('HSET', queue.base .. job, 'priority', priority, 'delay', 0, jobFields.waitingSince, now)
  redis.call('XADD', queue.events, 'MAXLEN', '~', 10000, '*', 'event', 'waiting', 'jobId', job, 'prev', 'delayed')
end

--- At the end.
local function wake_workers(queue)
  at_end('wake workers of ' .. queue.base, function()
    local limits = redis.call('HMGET', queue.meta, 'paused', 'concurrency')
    local has_room = not limits[2] or redis.call('LLEN', queue.active) < tonumber(limits[2])
    if not limits[1] and has_room then redis.call('ZADD', queue.marker, 0, '0') end
  end)
end
