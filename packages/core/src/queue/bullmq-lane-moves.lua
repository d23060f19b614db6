---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./redis-held-counts.lua
---@include ./bullmq-lanes.lua
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
  only_if_there
)
  local lane_key = base .. lane_job(name)
  if only_if_there and redis.call('EXISTS', lane_key) == 0 then return false end
  local ours = let_go(base, active_jobs, stalled, { job }, { token })
  if #ours == 0 then return true end
  redis.call('DEL', base .. job, base .. job .. ':lock')
  if redis.call('ZREM', held, event) == 1 then count_all_held(counts, counted, tag, account, endpoint_of(name)) end
  local queue = { base = base, prioritized = prioritized, counter = counter, meta = meta, active = active_jobs }
  queue.marker = marker
  local priority_of, finish = fair_order(prioritized, order_state, weights)
  local lane = open_lane(base, tag, account, name)
  enter(lane, tag, event, accepted_at, request)
  see_to_job(lane, queue, tag, priority_of, counts, counted, behind_heads)
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
---@param name text              of the lane
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
  name,
  events,
  was_held
)
  if #let_go(base, active, stalled, { lane_job(name) }, { token }) == 0 then return end
  local queue = { base = base, prioritized = prioritized, counter = counter, meta = meta, active = active }
  queue.marker = marker
  local priority_of, finish = fair_order(prioritized, order_state, weights)
  local lane, carried, endpoint = lane_of(tag, name), carried_of(tag, name), endpoint_of(name)
  local now, gone, added, priorities = string.format('%d', time_now()), 0, {}, {}
  for _, event in ipairs(events) do
    local place = redis.call('ZSCORE', lane, event)
    if place then
      redis.call('ZREM', lane, event)
      forget_in_line(tag, name, { event })
      gone = gone + 1
      local id, request = delivery_job(event, endpoint), redis.call('HGET', carried, event)
      if request then redis.call('HDEL', carried, event) end
      if redis.call('EXISTS', base .. id) == 0 then
        local data = '{"account_id":"' .. account .. '"' .. (request and ',"request":' .. request or '') .. '}'
        local priority = priority_of(account, endpoint, 1)
        store_job(base .. id, data, now, priority, place)
        added[#added + 1], priorities[#priorities + 1] = id, priority
      end
    end
  end
  if #added > 0 then put_in_place(queue, added, priorities) end
  finish()
  wake_workers(queue)
  go_on(queue, tag, order_state, weights, counts, counted, behind_heads, account, name, gone, was_held)
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
  local queue = { base = base, prioritized = prioritized, counter = counter, meta = meta, active = active }
  queue.marker = marker
  local gone = 0
  if #events > 0 then
    gone = redis.call('ZREM', lane_of(tag, name), unpack(events))
    redis.call('HDEL', carried_of(tag, name), unpack(events))
    forget_in_line(tag, name, events)
  end
  go_on(queue, tag, order_state, weights, counts, counted, behind_heads, account, name, gone, was_held)
end
