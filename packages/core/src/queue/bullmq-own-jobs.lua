---@const DELAYED_SCORE, JOB_OPTIONS, PRIORITY_SCORE, jobFields ./bullmq-layout

-- For scripts that change jobs of deliveries.

--- None of these is in question any more. Scripts that run together tell it of all their jobs at once.
local function forget_stalled(stalled, ids)
  local all = once[stalled]
  if not all then
    all = {}
    once[stalled] = all
    at_end('forget ' .. stalled, function()
      redis.call('SREM', stalled, unpack(all))
    end)
  end
  for _, id in ipairs(ids) do
    all[#all + 1] = id
  end
end

--- Gives those of some jobs that are still the worker's, and their locks; they are not active any more.
local function let_go(base, active, stalled, ids, tokens)
  local locks, ours, own_locks = {}, {}, {}
  for i = 1, #ids do
    locks[i] = base .. ids[i] .. ':lock'
  end
  local holders = redis.call('MGET', unpack(locks))
  for i = 1, #ids do
    if holders[i] == tokens[i] then
      ours[#ours + 1], own_locks[#own_locks + 1] = ids[i], locks[i]
      redis.call('LREM', active, '-1', ids[i])
    end
  end
  if #ours > 0 then forget_stalled(stalled, ours) end
  return ours, own_locks
end

--- Whether any of some keys exists. Lua gives only so many to a command.
local function is_any_there(asked)
  local at_once = 4000
  for first = 1, #asked, at_once do
    local last = math.min(first + at_once - 1, #asked)
    if redis.call('EXISTS', unpack(asked, first, last)) > 0 then return true end
  end
  return false
end

--- What all jobs have. Each that waits has it again, and a lane may be for one delivery: what is equal for all is the worker's.
local function store_job(key, data, now, priority, ...)
  redis.call('HSET', key, 'name', 'd', 'data', data, jobFields.timestamp, now, 'priority', priority, ...)
end

--- The job of one delivery has beside that what BullMQ's own scripts and workers of the version before read of it.
local function store_own_job(key, data, now, priority, accepted_at)
  store_job(key, data, now, priority, 'opts', JOB_OPTIONS, 'delay', 0, jobFields.acceptedAt, accepted_at)
end

--- The job tells why it is held, once for each reason, to the attempt that follows.
local function note_hold(job, hold, previous_started_at)
  -- Redis stores a job in another form, which takes more memory, once a field of it is longer than 64 bytes.
  local most_bytes = 64 - #hold
  local stored, known = unpack(redis.call('HMGET', job, jobFields.timestamp, jobFields.holds))
  if not stored then return end
  if not known or string.sub(known, -8) < previous_started_at then
    redis.call('HSET', job, jobFields.holds, hold)
  elseif string.sub(known, -9, -9) ~= string.sub(hold, 1, 1) and #known <= most_bytes then
    redis.call('HSET', job, jobFields.holds, known .. hold)
  end
end

--- Delayed jobs that are overdue are put back with the priority that they had: `DueDeliveries` puts them back before.
local function put_back_overdue(base, now, wait, prioritized, counter, delayed)
  local until_score = (tonumber(now) + 1) * DELAYED_SCORE - 1
  for _, job in ipairs(redis.call('ZRANGEBYSCORE', delayed, 0, until_score, 'LIMIT', 0, 1000)) do
    redis.call('ZREM', delayed, job)
    redis.call('HSET', base .. job, 'delay', 0)
    local priority = tonumber(redis.call('HGET', base .. job, 'priority')) or 0
    if priority == 0 then
      redis.call('LPUSH', wait, job)
    else
      local count = redis.call('INCR', counter)
      redis.call('ZADD', prioritized, priority * PRIORITY_SCORE + count % PRIORITY_SCORE, job)
    end
  end
end

--- What scripts that run together know of a queue: whether its jobs may be taken, and how many wait. `stays` has a lane's job that is
--- not put back: it is taken again, for the event that is first now, which has this place.
local function open_queue(base, now, wait, prioritized, counter, delayed, meta)
  local queue = once[base]
  if queue then return queue end
  local limits = redis.call('HMGET', meta, 'paused', 'concurrency')
  queue = { is_paused = limits[1], most_active = tonumber(limits[2]) }
  once[base] = queue
  put_back_overdue(base, now, wait, prioritized, counter, delayed)
  queue.unsorted, queue.sorted = redis.call('LLEN', wait), redis.call('ZCARD', prioritized)
  return queue
end
