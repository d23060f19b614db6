---@include ./bullmq-shard.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@const jobFields ./bullmq-layout
---@const EVENTS_FLOW ./fair-order

--- A producer's job may have a megabyte, so only small ones are parsed. In a larger one, the account is near the beginning, or
--- the job counts as one without an account.
local PARSED_EVENT_BYTES = 4096
local EVENT_HEAD_BYTES = 512

--- Gives the account of an event for the fair order, and the one to be noted: a strict order relies on that, so it is '' if it
--- is not certain.
local function accounts_of_pushed(data)
  local first = string.match(data, '^{"account_id":"([%w_-]+)"')
  if first then return first, first end
  if #data > PARSED_EVENT_BYTES then
    return string.match(string.sub(data, 1, EVENT_HEAD_BYTES), '"account_id"%s*:%s*"([%w_-]+)"') or '', ''
  end
  local is_json, event = pcall(cjson.decode, data)
  local account = is_json and type(event) == 'table' and string.match(tostring(event.account_id), '^[%w_-]+$') or ''
  return account, account
end

--- Puts jobs without a priority into the fair order, the longest waiting ones first: they are at the right. A few waiting jobs
--- need no order, unless others are in order already: BullMQ would take these later ones first.
---@key base                    the prefix of the jobs' keys
---@param most digits             that are sorted
---@param few integer             need no order
---@reply sorted integer
---@reply is_in_order boolean     some jobs are
function sort_pushed(base, most, few)
  local shard = shard_of(base)
  if redis.call('EXISTS', shard.prioritized) == 0 and redis.call('LLEN', shard.wait) <= few then return reply {} end
  local jobs = redis.call('RPOP', shard.wait, most) or {}
  for _, job in ipairs(jobs) do
    local account, known = accounts_of_pushed(redis.call('HGET', shard.base .. job, jobFields.data) or '')
    local priority = priority_of(shard, account, EVENTS_FLOW)
    redis.call('HSET', shard.base .. job, 'priority', priority, jobFields.account, known)
    put_in_place(shard, { job }, { priority })
  end
  return reply { sorted = #jobs, is_in_order = true }
end
