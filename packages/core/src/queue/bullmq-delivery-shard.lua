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

--- Nothing is left to send of a delivery: it leaves its batch, if no worker runs that. Gives whether one does.
local function drop_from_batch(shard, id, endpoint, event)
  local key, left = shard.base .. id, {}
  if redis.call('EXISTS', key .. ':lock') == 1 then return true end
  for _, other in ipairs(events_in(redis.call('HGET', key, jobFields.members))) do
    if other ~= event then left[#left + 1] = other end
  end
  redis.call('HDEL', batches_of(shard, endpoint), event)
  if #left > 0 then
    redis.call('HSET', key, jobFields.members, table.concat(left, ' '))
    return false
  end
  if take_idle(shard, id) then redis.call('DEL', key) end
  return false
end

--- The request that a delivery is to be sent for, as its lane or its batch has it, or the data of its own job.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param event EventId
---@reply is_placed boolean        it has a job, or is in a lane or a batch
---@reply data text?
---@reply request text?
function find_request(base, endpoint, event)
  local shard, own = shard_of(base), delivery_job(event, endpoint)
  local data = redis.call('HGET', shard.base .. own, jobFields.data)
  if data then return reply { is_placed = true, data = data } end
  local job, lane = finder_of(shard, endpoint)(event)
  if job ~= own then
    return reply { is_placed = true, request = redis.call('HGET', shard.base .. job, 'request ' .. event) }
  end
  return reply { is_placed = lane and true, request = lane and redis.call('HGET', carried_of(shard, lane), event) }
end

--- Those of some deliveries of an endpoint that are here, and that no worker has. Then nothing can take them away from here: what takes
--- their lock after this finds them locked where they come from.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param of_events EventId[]
---@return EventId[]
function find_idle(base, endpoint, of_events)
  local shard, idle = shard_of(base), {}
  local find = finder_of(shard, endpoint)
  for _, event in ipairs(of_events) do
    local own, job, lane = delivery_job(event, endpoint), find(event)
    local is_placed, is_locked = lane or job ~= own or redis.call('EXISTS', shard.base .. own) == 1, false
    for _, id in ipairs { own, job, lane_job(lane or endpoint) } do
      is_locked = is_locked or redis.call('EXISTS', shard.base .. id .. ':lock') == 1
    end
    if is_placed and not is_locked then idle[#idle + 1] = event end
  end
  return idle
end

--- Puts a delivery's job back, if that has failed for good, or that of its lane: as if it had never run, at its position in the
--- present fair order. BullMQ would give it its original one: behind all of today's jobs, or before them.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param event EventId
function put_back_failed(base, endpoint, event)
  local shard, id = shard_of(base), delivery_job(event, endpoint)
  if renew_failed(shard, id) then
    local account = account_in(redis.call('HGET', shard.base .. id, jobFields.data)) or ''
    local priority = priority_of(shard, account, endpoint)
    redis.call('HSET', shard.base .. id, 'priority', priority)
    put_in_place(shard, { id }, { priority })
    return wake_workers(shard)
  end
  local _, lane = finder_of(shard, endpoint)(event)
  if lane and redis.call('ZSCORE', shard.failed, lane_job(lane)) then wake_lane_for(shard, lane, event) end
end

--- Nothing is left to send of a delivery: its job goes if that is delayed or has failed for good, or its entry in a lane or a batch. A
--- job that is taken next is left alone: it ends by itself.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param event EventId
---@return boolean                 whether a worker runs it
function remove_idle(base, endpoint, event)
  local shard, own = shard_of(base), delivery_job(event, endpoint)
  local key = shard.base .. own
  if redis.call('EXISTS', key) == 1 then
    if redis.call('EXISTS', key .. ':lock') == 1 then return true end
    local is_removed = redis.call('ZREM', shard.delayed, own) == 1 or redis.call('ZREM', shard.failed, own) == 1
    if is_removed then redis.call('DEL', key, key .. ':logs') end
    return false
  end
  local job, lane = finder_of(shard, endpoint)(event)
  if lane and drop_from_lane(shard, lane, event) then return true end
  return job ~= own and drop_from_batch(shard, job, endpoint, event)
end

--- Those of some deliveries of an endpoint whose own jobs, or whose batches, are delayed.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@param of_events EventId[]
---@return EventId[]
function find_delayed(base, endpoint, of_events)
  local shard, delayed = shard_of(base), {}
  local find = finder_of(shard, endpoint)
  for _, event in ipairs(of_events) do
    local job = find(event)
    if redis.call('ZSCORE', shard.delayed, job) then delayed[#delayed + 1] = event end
  end
  return delayed
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
