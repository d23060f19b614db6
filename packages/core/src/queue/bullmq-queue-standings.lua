---@type JobKeys ./bullmq-layout
---@const PRIORITY_SCORE, jobFields ./bullmq-layout

--- Whether workers may take a job now.
---@with jobs JobKeys
---@key wait = jobs.wait
---@key prioritized = jobs.prioritized
---@key meta = jobs.meta
---@return boolean
function has_waiting(wait, prioritized, meta)
  if redis.call('EXISTS', wait, prioritized) == 0 then return false end
  return redis.call('HEXISTS', meta, 'paused') == 0
end

--- Whether somebody has paused the queue: no worker takes a job.
---@with jobs JobKeys
---@key meta = jobs.meta
---@return boolean
function is_paused(meta)
  return redis.call('HEXISTS', meta, 'paused') == 1
end

---@with jobs JobKeys
---@key prioritized = jobs.prioritized
---@param base text               prefix of each job's key
---@param most digits             that are read
---@reply waiting integer         all that wait in the fair order
---@reply data text[]             of some of them
function sample_waiting(prioritized, base, most)
  local data = {}
  for _, job in ipairs(redis.call('ZRANDMEMBER', prioritized, most)) do
    table.insert(data, redis.call('HGET', base .. job, jobFields.data) or '')
  end
  return reply { waiting = redis.call('ZCARD', prioritized), data = data }
end

--- Since when the jobs wait that have waited longest: one of those without a priority, and one of the prioritized.
---
--- A score among the prioritized counts up with each job that is put there: the lowest has waited longest. Jobs without a priority
--- are taken from the right. The job of a lane is put there for each of its deliveries, and tells since when the next one waits.
---@with jobs JobKeys
---@key wait = jobs.wait
---@key prioritized = jobs.prioritized
---@param base text               prefix of each job's key
---@param most integer            of the next jobs that are read
---@return text[]
function since_when(wait, prioritized, base, most)
  local first, oldest, since = nil, nil, {}
  local jobs = redis.call('ZRANGE', prioritized, 0, most - 1, 'WITHSCORES')
  for i = 1, #jobs, 2 do
    local count = tonumber(jobs[i + 1]) % PRIORITY_SCORE
    if not first or count < first then
      first, oldest = count, jobs[i]
    end
    if string.sub(jobs[i], 1, 5) == 'lane/' then
      since[#since + 1] = redis.call('HGET', base .. jobs[i], jobFields.waitingSince) or nil
    end
  end
  for _, job in ipairs { redis.call('LINDEX', wait, -1) or '', oldest or '' } do
    local times = redis.call('HMGET', base .. job, jobFields.waitingSince, jobFields.timestamp)
    since[#since + 1] = times[1] or times[2] or nil
  end
  return since
end
