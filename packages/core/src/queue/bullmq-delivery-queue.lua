---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@include ./bullmq-lines.lua
---@include ./bullmq-batches.lua
---@type JobKeys ./bullmq-layout

--- As BullMQ's own `add`, but each job gets its position in the fair order, all in one step, and without the parts for parents
--- and children, and the entry in a stream of events that nobody reads. An existing job stays, in any state, and so does what is in
--- its endpoint's lane, or in a batch.
---
--- Gives how many were nowhere before.
---@with jobs JobKeys
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key active = jobs.active
---@key marker = jobs.marker
---@key order_state                of the fair order
---@key weights
---@param base text                the prefix of the jobs' keys
---@param tag text                 of the shard
---@param accounts AccountId[]     of each job
---@param endpoints EndpointId[]
---@param ids text[]
---@param data text[]
---@param steps integer[]          how much of its account's turn each takes
---@param accepted_at digits?[]    unknown for jobs of versions before
---@return integer
function add_deliveries(
  prioritized,
  counter,
  meta,
  active,
  marker,
  order_state,
  weights,
  base,
  tag,
  accounts,
  endpoints,
  ids,
  data,
  steps,
  accepted_at
)
  local queue = {
    base = base,
    prioritized = prioritized,
    counter = counter,
    meta = meta,
    active = active,
    marker = marker,
  }
  local priority_of, finish, look_up = fair_order(prioritized, order_state, weights)
  local added, priorities, jobs, asked, seen, flows_of = {}, {}, {}, {}, {}, {}
  local now = string.format('%d', time_now())
  for i, account in ipairs(accounts) do
    local endpoint = endpoints[i]
    jobs[i], asked[i] = base .. ids[i], base .. ids[i]
    local flows = flows_of[account] or {}
    flows_of[account] = flows
    -- Often all are an endpoint's.
    if flows[#flows] ~= endpoint then flows[#flows + 1] = endpoint end
  end
  for account, flows in pairs(flows_of) do
    look_up(account, flows)
    for _, endpoint in ipairs(flows) do
      asked[#asked + 1] = base .. lane_job(endpoint)
      asked[#asked + 1] = lines_of(tag, endpoint)
      asked[#asked + 1] = batches_of(tag, endpoint)
    end
  end
  -- Mostly none of them is there, nor a lane, nor a batch.
  local looks = is_any_there(asked)
  local function is_there(i)
    if redis.call('EXISTS', jobs[i]) == 1 then return true end
    local event = string.sub(ids[i], 1, -#endpoints[i] - 2)
    if redis.call('ZSCORE', lane_of(tag, endpoints[i]), event) then return true end
    if redis.call('HEXISTS', lines_of(tag, endpoints[i]), event) == 1 then return true end
    return redis.call('HEXISTS', batches_of(tag, endpoints[i]), event) == 1
  end
  for i, job in ipairs(jobs) do
    if not seen[job] and not (looks and is_there(i)) then
      seen[job] = true
      local priority = priority_of(accounts[i], endpoints[i], steps[i])
      store_job(job, data[i], now, priority, accepted_at[i] or '')
      added[#added + 1] = ids[i]
      priorities[#added] = priority
    end
  end
  if #added > 0 then
    put_in_place(queue, added, priorities)
    finish()
    wake_workers(queue)
  end
  return #added
end

--- Whether nothing will send a delivery: it has no job in any state, failed ones included, is not held, and in no lane and no batch.
---@guard
---@key job
---@key held
---@key lane
---@key lines
---@key batches
---@param event EventId
function check_unplaced(job, held, lane, lines, batches, event)
  if redis.call('EXISTS', job) == 1 or redis.call('ZSCORE', held, event) then return stop() end
  if redis.call('ZSCORE', lane, event) or redis.call('HEXISTS', lines, event) == 1 then return stop() end
  if redis.call('HEXISTS', batches, event) == 1 then return stop() end
  return reply()
end

--- The priority for BullMQ to put a job back with.
---@with jobs JobKeys
---@key prioritized = jobs.prioritized
---@key order_state
---@key weights
---@param account AccountId
---@param endpoint EndpointId
---@return integer
function next_priority(prioritized, order_state, weights, account, endpoint)
  local priority_of, finish = fair_order(prioritized, order_state, weights)
  local priority = priority_of(account, endpoint, 1)
  finish()
  return priority
end
