---@include ../fair-order.lua
---@include ../bullmq-put-back.lua
---@type JobKeys ../bullmq-layout
---@const jobFields ../bullmq-layout

---@with shard ShardKeys
---@with jobs JobKeys
---@key delayed = jobs.delayed
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key active = jobs.active
---@key marker = jobs.marker
---@key events = jobs.events
---@key state                     of the fair order
---@key weights = shard.accountWeights
---@param base text               prefix of each job's key
---@param ids text[]
function put_back_delayed(delayed, prioritized, counter, meta, active, marker, events, state, weights, base, ids)
  local queue = queue_of(base, prioritized, counter, meta, active, marker, events)
  local priority_of, finish = fair_order(prioritized, state, weights)
  for _, job in ipairs(ids) do
    if redis.call('ZREM', delayed, job) == 1 then
      local account = account_in(redis.call('HGET', base .. job, jobFields.data)) or ''
      put_back(queue, job, priority_of(account, string.match(job, '[^./]*$'), 1))
    end
  end
  finish()
  wake_workers(queue)
end

--- Of another shard. An existing job here is younger, so it stays.
---@key job
---@key failed
---@param id text
---@param failed_at text
---@param fields {name text, value text}[]
function take_failed(job, failed, id, failed_at, fields)
  if redis.call('EXISTS', job) == 1 then return end
  local flat = {}
  for _, field in ipairs(fields) do
    flat[#flat + 1] = field.name
    flat[#flat + 1] = field.value
  end
  redis.call('HSET', job, unpack(flat))
  redis.call('ZADD', failed, failed_at, id)
end

---@key job
---@key failed
---@param id text
function drop_failed(job, failed, id)
  if redis.call('ZREM', failed, id) == 1 then redis.call('DEL', job) end
end
