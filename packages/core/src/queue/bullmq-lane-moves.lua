---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./redis-held-counts.lua
---@include ./bullmq-lanes.lua
---@const jobFields ./bullmq-layout
---@type JobKeys ./bullmq-layout

-- Moves between lanes and jobs of deliveries, by the worker that has the job of either.

--- A delivery that a worker has taken by itself becomes an entry of its endpoint's lane, in one step. Gives whether it is none of the
--- worker's any more.
---@with jobs JobKeys
---@with shard ShardKeys
---@key delayed = jobs.delayed
---@key job_events = jobs.events
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
---@key order_state                of the fair order
---@param base text
---@param tag text
---@param job text
---@param token text               what it is locked with
---@param account AccountId
---@param endpoint EndpointId
---@param event EventId
---@param accepted_at digits
---@param request text?
---@param has_begun boolean        then it keeps its turn
---@param only_if_there boolean    whether it stays if there is no lane
---@param is_in_batches boolean    whether that lane's deliveries need not wait for each other
---@return boolean
function join_lane(
  delayed,
  job_events,
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
  order_state,
  base,
  tag,
  job,
  token,
  account,
  endpoint,
  event,
  accepted_at,
  request,
  has_begun,
  only_if_there,
  is_in_batches
)
  local lane_key = base .. lane_job(endpoint)
  if only_if_there and redis.call('EXISTS', lane_key) == 0 then return false end
  local ours = let_go(base, active_jobs, stalled, { job }, { token })
  if #ours == 0 then return true end
  redis.call('DEL', base .. job, base .. job .. ':lock')
  if redis.call('ZREM', held, event) == 1 then
    count_held(counts, counted, account .. '/' .. endpoint, redis.call('ZCARD', held))
  end
  local queue = { base = base, prioritized = prioritized, counter = counter, meta = meta, active = active_jobs }
  queue.marker, queue.events = marker, job_events
  local priority_of, finish = fair_order(prioritized, order_state, weights)
  local lane = open_lane(base, tag, account, endpoint)
  enter(lane, tag, event, accepted_at, request)
  lane.is_in_batches = lane.is_in_batches or not lane.has_job and is_in_batches
  see_to_job(lane, queue, delayed, tag, priority_of, counts, counted, behind_heads)
  if has_begun and redis.call('EXISTS', lane_key .. ':lock') == 0 then redis.call('HSETNX', lane_key, 'head', event) end
  finish()
  return true
end

--- The endpoint of a lane has none any more: some of its entries become jobs, and the lane's own goes behind them.
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
---@param endpoint EndpointId
---@param events EventId[]
---@param was_held boolean
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
  endpoint,
  events,
  was_held
)
  if #let_go(base, active, stalled, { lane_job(endpoint) }, { token }) == 0 then return end
  local queue = { base = base, prioritized = prioritized, counter = counter, meta = meta, active = active }
  queue.marker = marker
  local lane, carried = lane_of(tag, endpoint), carried_of(tag, endpoint)
  local leaving, places, requests = {}, {}, {}
  for _, event in ipairs(events) do
    local place = redis.call('ZSCORE', lane, event)
    if place then
      local i, request = #leaving + 1, redis.call('HGET', carried, event)
      if request then redis.call('HDEL', carried, event) end
      leaving[i], places[i], requests[i] = event, place, request
    end
  end
  if #leaving > 0 then redis.call('ZREM', lane, unpack(leaving)) end
  -- What was held stays so, whatever the endpoint does with what comes due.
  local holds = was_held and redis.call('HGET', base .. lane_job(endpoint), jobFields.holds)
  add_own_jobs(queue, tag, order_state, weights, account, endpoint, leaving, requests, places, holds)
  go_on(queue, tag, order_state, weights, counts, counted, behind_heads, account, endpoint, #leaving, was_held)
end

--- Moves some of a lane's first entries elsewhere, after they were added there.
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
---@param endpoint EndpointId
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
  endpoint,
  events,
  was_held
)
  if #let_go(base, active, stalled, { lane_job(endpoint) }, { token }) == 0 then return end
  local queue = { base = base, prioritized = prioritized, counter = counter, meta = meta, active = active }
  queue.marker = marker
  local gone = 0
  if #events > 0 then
    gone = redis.call('ZREM', lane_of(tag, endpoint), unpack(events))
    redis.call('HDEL', carried_of(tag, endpoint), unpack(events))
  end
  go_on(queue, tag, order_state, weights, counts, counted, behind_heads, account, endpoint, gone, was_held)
end
