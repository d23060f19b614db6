---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@const jobFields ./bullmq-layout
---@type JobKeys ./bullmq-layout

--- As BullMQ's own `add`, but each job gets its position in the fair order, all in one step, and without the parts for parents
--- and children, and the entry in a stream of events that nobody reads. An existing job stays, in any state.
---
--- Gives how many had none before.
---@with jobs JobKeys
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key active = jobs.active
---@key marker = jobs.marker
---@key order_state                of the fair order
---@key weights
---@param base text                the prefix of the jobs' keys
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
  local added, priorities, jobs, seen, flows_of = {}, {}, {}, {}, {}
  local now = string.format('%d', time_now())
  for i, account in ipairs(accounts) do
    local endpoint = endpoints[i]
    jobs[i] = base .. ids[i]
    local flows = flows_of[account] or {}
    flows_of[account] = flows
    -- Often all are an endpoint's.
    if flows[#flows] ~= endpoint then flows[#flows + 1] = endpoint end
  end
  for account, flows in pairs(flows_of) do
    look_up(account, flows)
  end
  -- Mostly none of them is there.
  local is_any_there = redis.call('EXISTS', unpack(jobs)) > 0
  for i, job in ipairs(jobs) do
    if not seen[job] and (not is_any_there or redis.call('EXISTS', job) == 0) then
      seen[job] = true
      local priority = priority_of(accounts[i], endpoints[i], steps[i])
      -- Each pending delivery repeats its name, and its options. The retry policy decides when a delivery ends: BullMQ only
      -- has to be far from deciding it first. Settings that are equal for all jobs (removal, backoff) are the worker's.
      redis.call(
        'HSET',
        job,
        'name',
        'd',
        'data',
        data[i],
        'opts',
        '{"attempts":10000}',
        'timestamp',
        now,
        'delay',
        0,
        'priority',
        priority,
        jobFields.acceptedAt,
        accepted_at[i] or ''
      )
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

--- Whether nothing will send a delivery: it has no job in any state, failed ones included, and is not held.
---@guard
---@key job
---@key held
---@param event EventId
function check_unplaced(job, held, event)
  if redis.call('EXISTS', job) == 1 or redis.call('ZSCORE', held, event) then return stop() end
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
