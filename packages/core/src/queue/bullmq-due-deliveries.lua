---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@const DELAYED_SCORE, jobFields ./bullmq-layout
---@type JobKeys ./bullmq-layout

---@with jobs JobKeys
---@key delayed = jobs.delayed
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key active = jobs.active
---@key marker = jobs.marker
---@key events = jobs.events
---@key order_state
---@key weights
---@param base text               the prefix of the jobs' keys
---@param due_until integer
---@param most digits
---@reply count integer           how many were put back
---@reply next_due_at integer?
function put_back_due(
  delayed,
  prioritized,
  counter,
  meta,
  active,
  marker,
  events,
  order_state,
  weights,
  base,
  due_until,
  most
)
  local until_score = (due_until + 1) * DELAYED_SCORE - 1
  local jobs = redis.call('ZRANGEBYSCORE', delayed, 0, until_score, 'LIMIT', 0, most)
  if #jobs > 0 then
    local queue = queue_of(base, prioritized, counter, meta, active, marker, events)
    local priority_of, finish = fair_order(prioritized, order_state, weights)
    redis.call('ZREM', delayed, unpack(jobs))
    for _, job in ipairs(jobs) do
      local account = account_in(redis.call('HGET', base .. job, jobFields.data)) or ''
      put_back(queue, job, priority_of(account, string.match(job, '[^./]*$'), 1))
    end
    finish()
    wake_workers(queue)
  end
  local next_score = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
  return reply {
    count = #jobs,
    next_due_at = next_score and math.floor(tonumber(next_score) / DELAYED_SCORE),
  }
end
