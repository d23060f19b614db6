---@include ../platform/redis-time.lua
---@include ./bullmq-shard.lua
---@include ./fair-order.lua
---@include ./bullmq-put-back.lua
---@const jobFields ./bullmq-layout
---@const SCHEDULED_JOB_VERSION ./bullmq-event-queue
---@const EVENTS_FLOW ./fair-order

-- `scheduled` has the events of an account that wait, by their times; `accounts` those accounts, by when to look at their events;
-- `count` how many events wait. No key stays when nothing waits.

--- This many events are taken at once, of this many accounts: a few milliseconds for Redis.
local SCHEDULED_AT_ONCE = 200
local SCHEDULED_ACCOUNTS_AT_ONCE = 50
--- An event whose former job has not ended yet is looked at again.
local LOOK_AGAIN_AFTER_MS = 1000
--- Its record decides when it ends, not BullMQ.
local SCHEDULED_JOB_OPTIONS = '{"attempts":10000}'

--- Notes when to look at an account's events.
local function look_at_scheduled(scheduled, accounts, account, not_before)
  local first = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
  if not first[1] then
    redis.call('ZREM', accounts, account)
  else
    redis.call('ZADD', accounts, string.format('%d', math.max(tonumber(first[2]), not_before)), account)
  end
end

local function count_scheduled(count, change)
  if change ~= 0 and redis.call('INCRBY', count, change) <= 0 then redis.call('DEL', count) end
end

--- An entry that is there keeps its time.
---@with shard ShardKeys
---@key scheduled
---@key accounts = shard.scheduledAccounts
---@key count = shard.scheduledCount
---@param account AccountId
---@param events EventId[]
---@param times digits[]          of each event
function add_scheduled(scheduled, accounts, count, account, events, times)
  local scored = {}
  for i, event in ipairs(events) do
    scored[2 * i - 1] = times[i]
    scored[2 * i] = event
  end
  count_scheduled(count, redis.call('ZADD', scheduled, 'NX', unpack(scored)))
  look_at_scheduled(scheduled, accounts, account, 0)
end

---@with shard ShardKeys
---@key scheduled
---@key accounts = shard.scheduledAccounts
---@key count = shard.scheduledCount
---@param account AccountId
---@param event EventId
---@param time integer
---@param only_hastens boolean    nothing happens unless the event waits here for a later time
function place_scheduled(scheduled, accounts, count, account, event, time, only_hastens)
  local at = redis.call('ZSCORE', scheduled, event)
  if only_hastens and (not at or tonumber(at) <= time) then return end
  count_scheduled(count, redis.call('ZADD', scheduled, time, event))
  look_at_scheduled(scheduled, accounts, account, 0)
end

---@with shard ShardKeys
---@key scheduled
---@key accounts = shard.scheduledAccounts
---@key count = shard.scheduledCount
---@param account AccountId
---@param events EventId[]
---@param times digits[]?         of each event: one with another time stays
function remove_scheduled(scheduled, accounts, count, account, events, times)
  local gone = 0
  for i, event in ipairs(events) do
    if not times or redis.call('ZSCORE', scheduled, event) == times[i] then
      gone = gone + redis.call('ZREM', scheduled, event)
    end
  end
  count_scheduled(count, -gone)
  look_at_scheduled(scheduled, accounts, account, 0)
end

--- Moves events that are due onto the queue of events. An account that has more of them than its part goes behind the others that
--- have some. Gives in how many milliseconds the next one is due; nothing if none waits.
---@with shard ShardKeys
---@key base                      the prefix of the jobs' keys
---@key accounts = shard.scheduledAccounts
---@key count = shard.scheduledCount
---@param scheduled text          prefix of the keys of the accounts' events
---@return integer?
function take_due(base, accounts, count, scheduled)
  local shard = shard_of(base)
  local now = time_now()
  local due_accounts = redis.call('ZRANGEBYSCORE', accounts, '-inf', now, 'LIMIT', 0, SCHEDULED_ACCOUNTS_AT_ONCE)
  if #due_accounts > 0 then
    local each = math.floor(SCHEDULED_AT_ONCE / #due_accounts)
    local jobs, priorities = {}, {}
    for _, account in ipairs(due_accounts) do
      local key = scheduled .. account
      local due = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'WITHSCORES', 'LIMIT', 0, each)
      for i = 1, #due, 2 do
        local event, at = due[i], due[i + 1]
        local job = account .. '.' .. event .. '.due'
        if redis.call('EXISTS', shard.base .. job) == 1 then
          redis.call('ZADD', key, string.format('%d', now + LOOK_AGAIN_AFTER_MS), event)
        else
          local data = '{"account_id":"' .. account .. '","id":"' .. event .. '","due_at":' .. at
          data = data .. ',"v":' .. SCHEDULED_JOB_VERSION .. '}'
          local priority = priority_of(shard, account, EVENTS_FLOW)
          redis.call(
            'HSET',
            shard.base .. job,
            jobFields.name,
            'scheduled',
            jobFields.data,
            data,
            'opts',
            SCHEDULED_JOB_OPTIONS,
            jobFields.timestamp,
            at,
            'delay',
            0,
            'priority',
            priority
          )
          redis.call('ZREM', key, event)
          jobs[#jobs + 1] = job
          priorities[#jobs] = priority
        end
      end
      look_at_scheduled(key, accounts, account, now)
    end
    if #jobs > 0 then
      put_in_place(shard, jobs, priorities)
      count_scheduled(count, -#jobs)
      wake_workers(shard)
    end
  end
  local first = redis.call('ZRANGE', accounts, 0, 0, 'WITHSCORES')
  if not first[2] then return nil end
  return math.max(tonumber(first[2]) - now, 0)
end

--- The events that have been due for longest are those of accounts to look at next.
---@with shard ShardKeys
---@key accounts = shard.scheduledAccounts
---@key count = shard.scheduledCount
---@param scheduled text          prefix of the keys of the accounts' events
---@reply waiting integer
---@reply overdue_ms integer      0 if none is due
function scheduled_standing(accounts, count, scheduled)
  local now, oldest = time_now(), nil
  for _, account in ipairs(redis.call('ZRANGEBYSCORE', accounts, '-inf', now, 'LIMIT', 0, SCHEDULED_ACCOUNTS_AT_ONCE)) do
    local at = tonumber(redis.call('ZRANGE', scheduled .. account, 0, 0, 'WITHSCORES')[2])
    if at and (not oldest or at < oldest) then oldest = at end
  end
  return reply {
    waiting = tonumber(redis.call('GET', count)),
    overdue_ms = oldest and math.max(now - oldest, 0),
  }
end
