---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@include ./bullmq-lines.lua
---@include ./bullmq-batches.lua
---@const jobFields ./bullmq-layout
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
      store_own_job(job, data[i], now, priority, accepted_at[i] or '')
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

--- For some deliveries of an endpoint. Gives a function that tells the job that sends one, which is its own or its batch's, and the
--- lane that it is in.
local function finder_of(tag, endpoint, lines)
  local whole = lane_of(tag, endpoint)
  -- Mostly there is neither a lane nor a batch.
  local looks = is_any_there { whole, lines, batches_of(tag, endpoint) }
  return function(event)
    local own = delivery_job(event, endpoint)
    if not looks then return own end
    local line = redis.call('HGET', lines, event)
    local lane = line and line .. '.' .. endpoint or redis.call('ZSCORE', whole, event) and endpoint
    return batch_job_of(tag, endpoint, event) or own, lane
  end
end

local function is_run(base, tag, event, job, lane)
  if redis.call('EXISTS', base .. job .. ':lock') == 1 then return true end
  if not lane or redis.call('EXISTS', base .. lane_job(lane) .. ':lock') == 0 then return false end
  local fields = redis.call('HMGET', base .. lane_job(lane), 'head', jobFields.members)
  return has_its_turn(lane_of(tag, lane), event, fields[1], fields[2])
end

--- Those of some deliveries of an endpoint that a worker runs now.
---@key lines                     of the endpoint
---@param base text
---@param tag text
---@param endpoint EndpointId
---@param of_events EventId[]
---@return EventId[]
function find_running(lines, base, tag, endpoint, of_events)
  local find, running = finder_of(tag, endpoint, lines), {}
  for _, event in ipairs(of_events) do
    if is_run(base, tag, event, find(event)) then running[#running + 1] = event end
  end
  return running
end

--- The heads with which some deliveries of an endpoint go together, if they are no heads themselves. A head may be there several times.
---@key lines                     of the endpoint
---@param base text
---@param tag text
---@param endpoint EndpointId
---@param of_events EventId[]
---@return EventId[]
function find_heads(lines, base, tag, endpoint, of_events)
  local find, heads = finder_of(tag, endpoint, lines), {}
  for _, event in ipairs(of_events) do
    local _, lane = find(event)
    local fields = lane and redis.call('HMGET', base .. lane_job(lane), 'head', jobFields.members) or {}
    local head = fields[1]
    if head and head ~= event and has_its_turn(lane_of(tag, lane), event, head, fields[2]) then
      heads[#heads + 1] = head
    end
  end
  return heads
end

--- The others with which some deliveries of an endpoint go in one request: those of their batches, or at the heads of their lanes.
---@key lines                     of the endpoint
---@param base text
---@param tag text
---@param endpoint EndpointId
---@param of_events EventId[]
---@return EventId[]
function find_together(lines, base, tag, endpoint, of_events)
  local find, together, is_known = finder_of(tag, endpoint, lines), {}, {}
  for _, event in ipairs(of_events) do
    is_known[event] = true
  end
  for _, event in ipairs(of_events) do
    local job, lane = find(event)
    local key = base .. (lane and lane_job(lane) or job)
    local fields = is_known[key] and {} or redis.call('HMGET', key, 'head', jobFields.members)
    if not lane or has_its_turn(lane_of(tag, lane), event, fields[1], fields[2]) then
      is_known[key] = true
      for _, other in ipairs(events_in(fields[2])) do
        if not is_known[other] then together[#together + 1] = other end
        is_known[other] = true
      end
    end
  end
  return together
end

--- Ends the delays of the jobs of some deliveries of an endpoint, of their batches, or of their lanes if they are the heads there, or
--- come next. Each gets its position in the present fair order.
---@with jobs JobKeys
---@key delayed = jobs.delayed
---@key failed = jobs.failed
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key active = jobs.active
---@key marker = jobs.marker
---@key events = jobs.events
---@key order_state               of the fair order
---@key weights
---@param base text
---@param tag text
---@param endpoint EndpointId
---@param of_events EventId[]
---@reply running EventId[]       those that a worker runs
---@reply have_failed EventId[]   those whose own jobs have failed for good
function end_delays(
  delayed,
  failed,
  prioritized,
  counter,
  meta,
  active,
  marker,
  events,
  order_state,
  weights,
  base,
  tag,
  endpoint,
  of_events
)
  local queue = queue_of(base, prioritized, counter, meta, active, marker, events)
  local priority_of, finish = fair_order(prioritized, order_state, weights)
  local find, running, have_failed, are_ended = finder_of(tag, endpoint, lines_of(tag, endpoint)), {}, {}, false
  for _, event in ipairs(of_events) do
    local job, lane = find(event)
    if redis.call('ZREM', delayed, job) == 1 then
      local account = account_in(redis.call('HGET', base .. job, jobFields.data)) or ''
      put_back(queue, job, priority_of(account, endpoint, 1))
      are_ended = true
    elseif lane then
      are_ended = wake_lane_for(queue, delayed, failed, tag, lane, event, priority_of) or are_ended
    elseif redis.call('ZSCORE', failed, job) then
      have_failed[#have_failed + 1] = event
    end
    if is_run(base, tag, event, job, lane) then running[#running + 1] = event end
  end
  if are_ended then
    finish()
    wake_workers(queue)
  end
  return reply { running = running, have_failed = have_failed }
end
