---@const DELAYED_SCORE ./bullmq-layout
---@type JobKeys ./bullmq-layout

-- In place of BullMQ's own, where those do not do what a worker needs.

--- BullMQ's own sets each lock again, which Redis refuses while it is out of memory. A worker that has sent a request then and
--- can't record it would lose its job to another one, which sends it again. Gives the ids of the jobs that this worker has lost.
---@with jobs JobKeys
---@key stalled = jobs.stalled
---@param base text               the prefix of the jobs' keys
---@param lock_ms digits          how long they hold from now on
---@param ids text[]
---@param tokens text[]           what each is locked with
---@return text[]
function extend_locks(stalled, base, lock_ms, ids, tokens)
  local lost = {}
  for i, id in ipairs(ids) do
    local lock = base .. id .. ':lock'
    if redis.call('GET', lock) == tokens[i] and redis.call('PEXPIRE', lock, lock_ms) == 1 then
      redis.call('SREM', stalled, id)
    else
      lost[#lost + 1] = id
    end
  end
  return lost
end

--- Removes the marker that wakes workers if nothing waits: then it gives when the next delayed job is due, or 0.
---@with jobs JobKeys
---@key wait = jobs.wait
---@key prioritized = jobs.prioritized
---@key delayed = jobs.delayed
---@key marker = jobs.marker
---@return integer?
function rest_when_drained(wait, prioritized, delayed, marker)
  if redis.call('EXISTS', wait, prioritized) > 0 then return false end
  redis.call('ZREM', marker, '0')
  local next_score = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
  return next_score and math.floor(tonumber(next_score) / DELAYED_SCORE) or 0
end

--- Whether anybody runs a job of the queue.
---@with jobs JobKeys
---@key active = jobs.active
---@return boolean
function has_running(active)
  return redis.call('EXISTS', active) == 1
end
