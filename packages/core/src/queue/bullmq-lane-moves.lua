---@include ../platform/redis-time.lua
---@include ./bullmq-shard.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@const jobFields ./bullmq-layout

-- Moves between lanes and jobs of deliveries, by the worker that has the job of either.

--- A delivery that a worker has taken by itself becomes an entry of its endpoint's lane, in one step. Gives whether it is none of the
--- worker's any more.
---@key base                    the prefix of the jobs' keys
---@param job text
---@param token text               what it is locked with
---@param account AccountId
---@param name text              of the lane
---@param event EventId
---@param accepted_at digits
---@param request text?
---@param has_begun boolean        then it keeps its turn
---@param only_if_there boolean    whether it stays if there is no lane
---@param is_in_batches boolean    whether that lane's deliveries need not wait for each other
---@return boolean
function join_lane(
  base,
  job,
  token,
  account,
  name,
  event,
  accepted_at,
  request,
  has_begun,
  only_if_there,
  is_in_batches
)
  local shard = shard_of(base)
  local lane_key = shard.base .. lane_job(name)
  if only_if_there and redis.call('EXISTS', lane_key) == 0 then return false end
  local ours = let_go(shard, { job }, { token })
  if #ours == 0 then return true end
  redis.call('DEL', shard.base .. job, shard.base .. job .. ':lock')
  local endpoint = endpoint_of(name)
  if redis.call('ZREM', held_of(shard, endpoint), event) == 1 then count_beside(shard, account, endpoint) end
  local lane = open_lane(shard, account, name)
  enter(shard, lane, event, accepted_at, request)
  lane.is_in_batches = lane.is_in_batches or not lane.has_job and is_in_batches
  see_to_job(shard, lane)
  if has_begun and redis.call('EXISTS', lane_key .. ':lock') == 0 then redis.call('HSETNX', lane_key, 'head', event) end
  -- The lane may have waited for it.
  local head = redis.call('HGET', lane_key, 'head') or redis.call('ZRANGE', lane.key, 0, 0)[1]
  if head == event then wake_lane(shard, account, name) end
  return true
end

--- An entry gets a job of its own, which is in no list yet. Gives whether it was one; its job, and that one's priority.
local function give_job(shard, account, name, event)
  local lane, carried, endpoint = lane_of(shard, name), carried_of(shard, name), endpoint_of(name)
  local place, request = redis.call('ZSCORE', lane, event), redis.call('HGET', carried, event)
  if not place then return false end
  remove_entries(shard, name, { event })
  local id = delivery_job(event, endpoint)
  if redis.call('EXISTS', shard.base .. id) == 1 then return true end
  local priority = priority_of(shard, account, endpoint)
  store_own_job(shard.base .. id, own_data(account, request), string.format('%d', time_now()), priority, place)
  return true, id, priority
end

--- Some of a lane's entries get jobs of their own, and the lane's goes behind them: the endpoint has no lane any more, or the
--- head has failed for good. The head's job fails by itself when it is taken.
---@key base                    the prefix of the jobs' keys
---@param token text               what its job is locked with
---@param account AccountId
---@param name text              of the lane
---@param events EventId[]
---@param behind text[]          the hold of each, if it waits behind another one
---@param was_held boolean
---@param failure text?          why the head becomes a dead letter
---@return boolean              whether the lane was still the worker's
function leave_lane(base, token, account, name, events, behind, was_held, failure)
  local shard = shard_of(base)
  if #let_go(shard, { lane_job(name) }, { token }) == 0 then return false end
  -- What was held stays so, whatever the endpoint does with what comes due.
  local lane_key = shard.base .. lane_job(name)
  local holds = was_held and not failure and redis.call('HGET', lane_key, jobFields.holds)
  -- What was not held has waited for those before it, the first one too if one has gone before. Of a line, what was held is told of
  -- the first one.
  local waits = not was_held and not failure and redis.call('HEXISTS', lane_key, jobFields.inBatches) == 0
  local has_waited = waits and redis.call('HEXISTS', lane_key, jobFields.hasWaited) == 1
  local first = waits and redis.call('ZRANGE', lane_of(shard, name), 0, 0)[1]
  local of_first = waits and redis.call('HGET', lane_key, jobFields.holds)
  local runs = failure and redis.call('HMGET', lane_key, jobFields.attemptsStarted, jobFields.attemptsMade)
  local gone, added, priorities = 0, {}, {}
  for i, event in ipairs(events) do
    local is_gone, job, priority = give_job(shard, account, name, event)
    if is_gone then gone = gone + 1 end
    if job then
      added[#added + 1], priorities[#priorities + 1] = job, priority
      local hold = holds or event == first and of_first
      if not hold and waits and (has_waited or event ~= first) then hold = behind[i] end
      if hold then redis.call('HSET', shard.base .. job, jobFields.holds, hold, jobFields.attemptsStarted, 1) end
      if runs then
        local failed = { jobFields.deferredFailure, failure, jobFields.attemptsStarted, runs[1] or 1 }
        redis.call('HSET', shard.base .. job, jobFields.attemptsMade, runs[2] or 0, unpack(failed))
      end
    end
  end
  if #added > 0 then put_in_place(shard, added, priorities) end
  wake_workers(shard)
  go_on(shard, account, name, gone, was_held, holds)
  return true
end

--- Moves some of a lane's first entries elsewhere, after they were added there. What stays is held as before.
---@key base                    the prefix of the jobs' keys
---@param token text               what its job is locked with
---@param account AccountId
---@param name text              of the lane
---@param events EventId[]
---@param was_held boolean
function forget_moved(base, token, account, name, events, was_held)
  local shard = shard_of(base)
  if #let_go(shard, { lane_job(name) }, { token }) == 0 then return end
  local gone = remove_entries(shard, name, events)
  go_on(shard, account, name, gone, was_held, was_held)
end
