---@include ../platform/redis-time.lua
---@include ./bullmq-shard.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@include ./bullmq-batches.lua
---@const jobFields ./bullmq-layout

--- As BullMQ's own `add`, but each job gets its position in the fair order, all in one step, and without the parts for parents
--- and children, and the entry in a stream of events that nobody reads. An existing job stays, in any state, and so does what is in
--- its endpoint's lane, or in a batch.
---
--- Gives how many were nowhere before.
---@key base                    the prefix of the jobs' keys
---@param accounts AccountId[]     of each job
---@param endpoints EndpointId[]
---@param ids text[]
---@param data text[]
---@param steps integer[]          how much of its account's turn each takes
---@param accepted_at digits?[]    unknown for jobs of versions before
---@return integer
function add_deliveries(base, accounts, endpoints, ids, data, steps, accepted_at)
  local shard = shard_of(base)
  local added, priorities, jobs, asked, seen, flows_of = {}, {}, {}, {}, {}, {}
  local now = string.format('%d', time_now())
  for i, account in ipairs(accounts) do
    local endpoint = endpoints[i]
    jobs[i], asked[i] = shard.base .. ids[i], shard.base .. ids[i]
    local flows = flows_of[account] or {}
    flows_of[account] = flows
    -- Often all are an endpoint's.
    if flows[#flows] ~= endpoint then flows[#flows + 1] = endpoint end
  end
  for account, flows in pairs(flows_of) do
    look_up(shard, account, flows)
    for _, endpoint in ipairs(flows) do
      asked[#asked + 1] = shard.base .. lane_job(endpoint)
      asked[#asked + 1] = lines_of(shard, endpoint)
      asked[#asked + 1] = batches_of(shard, endpoint)
    end
  end
  -- Mostly none of them is there, nor a lane, nor a batch.
  local looks = is_any_there(asked)
  local function is_there(i)
    if redis.call('EXISTS', jobs[i]) == 1 then return true end
    local event = string.sub(ids[i], 1, -#endpoints[i] - 2)
    if redis.call('ZSCORE', lane_of(shard, endpoints[i]), event) then return true end
    if redis.call('HEXISTS', lines_of(shard, endpoints[i]), event) == 1 then return true end
    return redis.call('HEXISTS', batches_of(shard, endpoints[i]), event) == 1
  end
  for i, job in ipairs(jobs) do
    if not seen[job] and not (looks and is_there(i)) then
      seen[job] = true
      local priority = priority_of(shard, accounts[i], endpoints[i], steps[i])
      store_own_job(job, data[i], now, priority, accepted_at[i] or '')
      added[#added + 1] = ids[i]
      priorities[#added] = priority
    end
  end
  if #added > 0 then
    put_in_place(shard, added, priorities)
    wake_workers(shard)
  end
  return #added
end

--- Whether nothing will send a delivery: it has no job in any state, failed ones included, is not held, and in no lane and no batch.
---@guard
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param event EventId
function check_unplaced(base, endpoint, event)
  local shard = shard_of(base)
  local has_job = redis.call('EXISTS', shard.base .. delivery_job(event, endpoint)) == 1
  if has_job or redis.call('ZSCORE', held_of(shard, endpoint), event) then return stop() end
  if redis.call('ZSCORE', lane_of(shard, endpoint), event) then return stop() end
  if redis.call('HEXISTS', lines_of(shard, endpoint), event) == 1 then return stop() end
  if redis.call('HEXISTS', batches_of(shard, endpoint), event) == 1 then return stop() end
  return reply()
end

--- The priority for BullMQ to put a job back with.
---@key base                    the prefix of the jobs' keys
---@param account AccountId
---@param endpoint EndpointId
---@return integer
function next_priority(base, account, endpoint)
  return priority_of(shard_of(base), account, endpoint)
end

--- For some deliveries of an endpoint. Gives a function that tells the job that sends one, which is its own or its batch's, and the
--- lane that it is in.
local function finder_of(shard, endpoint)
  local whole, lines = lane_of(shard, endpoint), lines_of(shard, endpoint)
  -- Mostly there is neither a lane nor a batch.
  local looks = is_any_there { whole, lines, batches_of(shard, endpoint) }
  return function(event)
    local own = delivery_job(event, endpoint)
    if not looks then return own end
    local line = redis.call('HGET', lines, event)
    local lane = line and line .. '.' .. endpoint or redis.call('ZSCORE', whole, event) and endpoint
    return batch_job_of(shard, endpoint, event) or own, lane
  end
end

local function is_run(shard, event, job, lane)
  if redis.call('EXISTS', shard.base .. job .. ':lock') == 1 then return true end
  if not lane or redis.call('EXISTS', shard.base .. lane_job(lane) .. ':lock') == 0 then return false end
  local fields = redis.call('HMGET', shard.base .. lane_job(lane), 'head', jobFields.members)
  return has_its_turn(lane_of(shard, lane), event, fields[1], fields[2])
end

--- Those of some deliveries of an endpoint that a worker runs now.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param of_events EventId[]
---@return EventId[]
function find_running(base, endpoint, of_events)
  local shard = shard_of(base)
  local find, running = finder_of(shard, endpoint), {}
  for _, event in ipairs(of_events) do
    if is_run(shard, event, find(event)) then running[#running + 1] = event end
  end
  return running
end

--- The heads with which some deliveries of an endpoint go together, if they are no heads themselves. A head may be there several times.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param of_events EventId[]
---@return EventId[]
function find_heads(base, endpoint, of_events)
  local shard = shard_of(base)
  local find, heads = finder_of(shard, endpoint), {}
  for _, event in ipairs(of_events) do
    local _, lane = find(event)
    local fields = lane and redis.call('HMGET', shard.base .. lane_job(lane), 'head', jobFields.members) or {}
    local head = fields[1]
    if head and head ~= event and has_its_turn(lane_of(shard, lane), event, head, fields[2]) then
      heads[#heads + 1] = head
    end
  end
  return heads
end

--- The others with which some deliveries of an endpoint go in one request: those of their batches, or at the heads of their lanes.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param of_events EventId[]
---@return EventId[]
function find_together(base, endpoint, of_events)
  local shard = shard_of(base)
  local find, together, is_known = finder_of(shard, endpoint), {}, {}
  for _, event in ipairs(of_events) do
    is_known[event] = true
  end
  for _, event in ipairs(of_events) do
    local job, lane = find(event)
    local key = shard.base .. (lane and lane_job(lane) or job)
    local fields = is_known[key] and {} or redis.call('HMGET', key, 'head', jobFields.members)
    if not lane or has_its_turn(lane_of(shard, lane), event, fields[1], fields[2]) then
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
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param of_events EventId[]
---@reply running EventId[]       those that a worker runs
---@reply have_failed EventId[]   those whose own jobs have failed for good
function end_delays(base, endpoint, of_events)
  local shard = shard_of(base)
  local find, running, have_failed = finder_of(shard, endpoint), {}, {}
  for _, event in ipairs(of_events) do
    local job, lane = find(event)
    if redis.call('ZREM', shard.delayed, job) == 1 then
      local account = account_in(redis.call('HGET', shard.base .. job, jobFields.data)) or ''
      put_back(shard, job, account, endpoint)
    elseif lane then
      wake_lane_for(shard, lane, event)
    elseif redis.call('ZSCORE', shard.failed, job) then
      have_failed[#have_failed + 1] = event
    end
    if is_run(shard, event, job, lane) then running[#running + 1] = event end
  end
  return reply { running = running, have_failed = have_failed }
end
