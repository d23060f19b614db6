---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@const jobFields ./bullmq-layout
---@type JobKeys ./bullmq-layout

-- Moves between lanes and jobs of deliveries, by the worker that has the job of either.

--- A delivery that a worker has taken by itself becomes an entry of its endpoint's lane, in one step. Gives whether it is none of the
--- worker's any more.
---@with jobs JobKeys
---@with shard ShardKeys
---@key active_jobs = jobs.active
---@key stalled = jobs.stalled
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key marker = jobs.marker
---@key counts = shard.heldCounts
---@key counted = shard.countedAsHeld
---@key behind_heads = shard.behindHeads
---@key weights = shard.accountWeights
---@key held
---@key delayed = jobs.delayed
---@key failed = jobs.failed
---@key events = jobs.events
---@key order_state                of the fair order
---@param base text
---@param tag text
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
  active_jobs,
  stalled,
  prioritized,
  counter,
  meta,
  marker,
  counts,
  counted,
  behind_heads,
  weights,
  held,
  delayed,
  failed,
  events,
  order_state,
  base,
  tag,
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
  local lane_key = base .. lane_job(name)
  if only_if_there and redis.call('EXISTS', lane_key) == 0 then return false end
  local ours = let_go(base, active_jobs, stalled, { job }, { token })
  if #ours == 0 then return true end
  redis.call('DEL', base .. job, base .. job .. ':lock')
  if redis.call('ZREM', held, event) == 1 then count_beside(counts, counted, tag, account, endpoint_of(name)) end
  local queue = queue_of(base, prioritized, counter, meta, active_jobs, marker, events)
  local priority_of, finish = fair_order(prioritized, order_state, weights)
  local lane = open_lane(base, tag, account, name)
  enter(lane, tag, event, accepted_at, request)
  lane.is_in_batches = lane.is_in_batches or not lane.has_job and is_in_batches
  see_to_job(lane, queue, delayed, tag, priority_of, counts, counted, behind_heads)
  if has_begun and redis.call('EXISTS', lane_key .. ':lock') == 0 then redis.call('HSETNX', lane_key, 'head', event) end
  -- The lane may have waited for it.
  local head = redis.call('HGET', lane_key, 'head') or redis.call('ZRANGE', lane.key, 0, 0)[1]
  if head == event then wake_lane(queue, delayed, failed, account, name, priority_of) end
  finish()
  return true
end

--- An entry gets a job of its own, which is in no list yet. Gives whether it was one; its job, and that one's priority.
local function give_job(base, tag, account, name, event, priority_of)
  local lane, carried, endpoint = lane_of(tag, name), carried_of(tag, name), endpoint_of(name)
  local place, request = redis.call('ZSCORE', lane, event), redis.call('HGET', carried, event)
  if not place then return false end
  remove_entries(tag, name, { event })
  local id = delivery_job(event, endpoint)
  if redis.call('EXISTS', base .. id) == 1 then return true end
  local priority = priority_of(account, endpoint, 1)
  store_own_job(base .. id, own_data(account, request), string.format('%d', time_now()), priority, place)
  return true, id, priority
end

--- Some of a lane's entries get jobs of their own, and the lane's goes behind them: the endpoint has no lane any more, or the
--- head has failed for good. The head's job fails by itself when it is taken.
---@with jobs JobKeys
---@with shard ShardKeys
---@key active = jobs.active
---@key stalled = jobs.stalled
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key marker = jobs.marker
---@key counts = shard.heldCounts
---@key counted = shard.countedAsHeld
---@key behind_heads = shard.behindHeads
---@key weights = shard.accountWeights
---@key order_state                of the fair order
---@param base text
---@param tag text
---@param token text               what its job is locked with
---@param account AccountId
---@param name text              of the lane
---@param events EventId[]
---@param behind text[]          the hold of each, if it waits behind another one
---@param was_held boolean
---@param failure text?          why the head has failed for good
---@return boolean              whether the lane was still the worker's
function leave_lane(
  active,
  stalled,
  prioritized,
  counter,
  meta,
  marker,
  counts,
  counted,
  behind_heads,
  weights,
  order_state,
  base,
  tag,
  token,
  account,
  name,
  events,
  behind,
  was_held,
  failure
)
  if #let_go(base, active, stalled, { lane_job(name) }, { token }) == 0 then return false end
  local queue = queue_of(base, prioritized, counter, meta, active, marker)
  local priority_of, finish = fair_order(prioritized, order_state, weights)
  -- What was held stays so, whatever the endpoint does with what comes due.
  local lane_key = base .. lane_job(name)
  local holds = was_held and not failure and redis.call('HGET', lane_key, jobFields.holds)
  -- What was not held has waited for those before it, the first one too if one has gone before. Of a line, what was held is told of
  -- the first one.
  local waits = not was_held and not failure and redis.call('HEXISTS', lane_key, jobFields.inBatches) == 0
  local has_waited = waits and redis.call('HEXISTS', lane_key, jobFields.hasWaited) == 1
  local first = waits and redis.call('ZRANGE', lane_of(tag, name), 0, 0)[1]
  local of_first = waits and redis.call('HGET', lane_key, jobFields.holds)
  local runs = failure and redis.call('HMGET', lane_key, jobFields.attemptsStarted, jobFields.attemptsMade)
  local gone, added, priorities = 0, {}, {}
  for i, event in ipairs(events) do
    local is_gone, job, priority = give_job(base, tag, account, name, event, priority_of)
    if is_gone then gone = gone + 1 end
    if job then
      added[#added + 1], priorities[#priorities + 1] = job, priority
      local hold = holds or event == first and of_first
      if not hold and waits and (has_waited or event ~= first) then hold = behind[i] end
      if hold then redis.call('HSET', base .. job, jobFields.holds, hold, jobFields.attemptsStarted, 1) end
      if runs then
        local failed = { jobFields.deferredFailure, failure, jobFields.attemptsStarted, runs[1] or 1 }
        redis.call('HSET', base .. job, jobFields.attemptsMade, runs[2] or 0, unpack(failed))
      end
    end
  end
  if #added > 0 then put_in_place(queue, added, priorities) end
  finish()
  wake_workers(queue)
  go_on(queue, tag, order_state, weights, counts, counted, behind_heads, account, name, gone, was_held, holds)
  return true
end

--- Moves some of a lane's first entries elsewhere, after they were added there. What stays is held as before.
---@with jobs JobKeys
---@with shard ShardKeys
---@key active = jobs.active
---@key stalled = jobs.stalled
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key marker = jobs.marker
---@key counts = shard.heldCounts
---@key counted = shard.countedAsHeld
---@key behind_heads = shard.behindHeads
---@key weights = shard.accountWeights
---@key order_state                of the fair order
---@param base text
---@param tag text
---@param token text               what its job is locked with
---@param account AccountId
---@param name text              of the lane
---@param events EventId[]
---@param was_held boolean
function forget_moved(
  active,
  stalled,
  prioritized,
  counter,
  meta,
  marker,
  counts,
  counted,
  behind_heads,
  weights,
  order_state,
  base,
  tag,
  token,
  account,
  name,
  events,
  was_held
)
  if #let_go(base, active, stalled, { lane_job(name) }, { token }) == 0 then return end
  local queue = queue_of(base, prioritized, counter, meta, active, marker)
  local gone = remove_entries(tag, name, events)
  go_on(queue, tag, order_state, weights, counts, counted, behind_heads, account, name, gone, was_held, was_held)
end
