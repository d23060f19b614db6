---@const DELAYED_SCORE, JOB_OPTIONS, PRIORITY_SCORE, jobFields ./bullmq-layout

-- For scripts that change jobs of deliveries.

--- None of these is in question any more. Scripts that run together tell it of all their jobs at once.
local function forget_stalled(shard, ids)
  shard.freed = shard.freed or {}
  for _, id in ipairs(ids) do
    table.insert(shard.freed, id)
  end
  at_end('forget ' .. shard.stalled, function()
    redis.call('SREM', shard.stalled, unpack(shard.freed))
  end)
end

--- Gives those of some jobs that are still the worker's, and their locks; they are not active any more.
local function let_go(shard, ids, tokens)
  local locks, ours, own_locks = {}, {}, {}
  for i = 1, #ids do
    locks[i] = shard.base .. ids[i] .. ':lock'
  end
  local holders = redis.call('MGET', unpack(locks))
  for i = 1, #ids do
    if holders[i] == tokens[i] then
      ours[#ours + 1], own_locks[#own_locks + 1] = ids[i], locks[i]
      redis.call('LREM', shard.active, '-1', ids[i])
    end
  end
  if #ours > 0 then forget_stalled(shard, ours) end
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

--- A job that is in no list any more comes back later. `failure`: why its attempt failed; absent: there was none.
local function put_off(shard, id, due_at, delay, failure)
  local key = shard.base .. id
  redis.call('HSET', key, 'delay', delay)
  if failure then
    redis.call('HSET', key, jobFields.failedReason, failure)
    redis.call('HINCRBY', key, jobFields.attemptsMade, 1)
  end
  local lowest = due_at * DELAYED_SCORE
  local highest = lowest + DELAYED_SCORE - 1
  local last = redis.call('ZREVRANGEBYSCORE', shard.delayed, highest, lowest, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  redis.call('ZADD', shard.delayed, last and math.min(tonumber(last) + 1, highest) or lowest, id)
  at_end('first delayed of ' .. shard.base, function()
    if redis.call('EXISTS', shard.wait, shard.prioritized) > 0 then return end
    local first = redis.call('ZRANGE', shard.delayed, 0, 0, 'WITHSCORES')[2]
    if first then redis.call('ZADD', shard.marker, tonumber(first) / DELAYED_SCORE, '1') end
  end)
end

--- Delayed jobs that are overdue are put back with the priority that they had: `DueDeliveries` puts them back before.
local function put_back_overdue(shard, now)
  local until_score = (tonumber(now) + 1) * DELAYED_SCORE - 1
  for _, job in ipairs(redis.call('ZRANGEBYSCORE', shard.delayed, 0, until_score, 'LIMIT', 0, 1000)) do
    redis.call('ZREM', shard.delayed, job)
    redis.call('HSET', shard.base .. job, 'delay', 0)
    local priority = tonumber(redis.call('HGET', shard.base .. job, 'priority')) or 0
    if priority == 0 then
      redis.call('LPUSH', shard.wait, job)
    else
      local count = redis.call('INCR', shard.counter)
      redis.call('ZADD', shard.prioritized, priority * PRIORITY_SCORE + count % PRIORITY_SCORE, job)
    end
  end
end

--- Scripts that run together note in the table of the shard whether jobs may be taken, and how many wait. `stays` has a lane's job
--- that is not put back: it is taken again, for the event that is first now, which has this place.
local function look_at_queue(shard, now)
  if shard.sorted then return end
  local limits = redis.call('HMGET', shard.meta, 'paused', 'concurrency')
  shard.is_paused, shard.most_active = limits[1], tonumber(limits[2])
  put_back_overdue(shard, now)
  shard.unsorted, shard.sorted = redis.call('LLEN', shard.wait), redis.call('ZCARD', shard.prioritized)
end
