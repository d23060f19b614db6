---@include ./bullmq-shard.lua
---@const PRIORITY_SCORE, jobFields ./bullmq-layout
---@const EVENTS_FLOW ./fair-order

-- How many waiting jobs are read, from the end that is taken next. More than all workers together can have running, as a crash brings
-- those out of order.
local MOST_READ = 500

--- Whether no event of the account that was accepted before this one may still bring deliveries.
---
--- Relies on where BullMQ 6 keeps an unfinished job. It is in `active` while a worker has it. It is at the right end of `wait`, to be
--- taken next, when its worker died or gave it back. It is at the left end when it is new, or when its delay is over. So old jobs
--- are at the right, except those that were put back with a delay, which the store notes itself. A job that failed for good does
--- not come back by itself: nothing waits for it. A paused queue keeps its jobs in `wait`. Jobs in the fair order, and those that
--- producers add with a priority, are in `prioritized`. There an account's own jobs keep their order, so the first of them speaks
--- for all. If none of them is among the jobs that are read, the fair order knows whether there are some. A job that a producer has
--- delayed is not published before its time.
---
--- The product's own job ids tell account and order. Any other job counts by the time when it was added, and the same millisecond
--- counts as older. Its account is noted as it gets its position. A few wait without a position, for a moment: they count for every
--- account, and so do those whose account is not certain.
local function is_oldest(shard, account, event, accepted_at, own_job)
  local most, put_back = MOST_READ, 'put-back-events:' .. shard.tag .. ':' .. account
  local is_known = 'events of ' .. put_back
  -- Mostly there is none. One that comes from a script that runs together with this one has not waited before.
  if once[is_known] == nil then
    once[is_known] = redis.call('EXISTS', shard.active, shard.wait, shard.prioritized, put_back) > 0
  end
  if not once[is_known] then return true end
  local event_form = '(evt_' .. string.rep('[0-9a-z]', 22) .. ')$'
  local can_compare = string.match(event, '^' .. event_form) ~= nil

  local function is_older(job, of_any_account)
    if job == own_job then return false end
    local its_account, its_event = string.match(job, '^(.+)%.' .. event_form)
    if its_event and its_account ~= account and not of_any_account then return false end
    if its_event and can_compare then return its_event < event end
    local added_at, noted = unpack(redis.call('HMGET', shard.base .. job, jobFields.timestamp, jobFields.account))
    local is_anothers = noted and noted ~= '' and noted ~= account
    if is_anothers and not of_any_account then return false end
    return added_at ~= false and tonumber(added_at) <= accepted_at
  end

  local function has_older(jobs)
    for _, job in ipairs(jobs) do
      if is_older(job, false) then return true end
    end
    return false
  end

  local function has_own(jobs)
    for _, job in ipairs(jobs) do
      if string.match(job, '^(.+)%.' .. event_form) == account then return true end
    end
    return false
  end

  if has_older(redis.call('LRANGE', shard.active, 0, -1)) then return false end
  local waiting = redis.call('LRANGE', shard.wait, -most, -1)
  if has_older(waiting) then return false end
  if #waiting == most and is_older(waiting[1], true) then return false end
  local sorted = redis.call('ZRANGE', shard.prioritized, 0, most - 1)
  if has_older(sorted) then return false end
  if #sorted == most and not has_own(sorted) then
    local last = redis.call('ZSCORE', shard.order .. ':' .. account, EVENTS_FLOW)
    local head = redis.call('ZRANGE', shard.prioritized, 0, 0, 'WITHSCORES')
    local base_position = tonumber(redis.call('HGET', shard.order, 'base') or '0')
    local now = base_position + math.floor(tonumber(head[2]) / PRIORITY_SCORE) - 1
    if last and tonumber(last) >= now then return false end
  end
  for _, job in ipairs(redis.call('ZRANGE', put_back, 0, most - 1)) do
    local comes_back = redis.call('EXISTS', shard.base .. job) == 1 and not redis.call('ZSCORE', shard.failed, job)
    if comes_back and is_older(job, false) then return false end
  end
  return true
end

--- Stops if an event of the account that was accepted before this one may still bring deliveries.
---@guard
---@key base                    the prefix of the jobs' keys
---@param account AccountId
---@param event EventId
---@param accepted_at integer
---@param own_job text            of this event
function guard_oldest(base, account, event, accepted_at, own_job)
  return is_oldest(shard_of(base), account, event, accepted_at, own_job) and reply() or stop()
end
