-- The keys of a queue in a shard. Scripts build their names themselves: a test compares them with those of `domain/keys.ts` and
-- `bullmq-layout.ts`. All have the shard's hash tag, and so has the prefix of its jobs' keys, which scripts get as their key.

--- By that prefix, such as `{bull}:deliveries:`. Scripts that run together share the table, and what they note in it.
local function shard_of(base)
  if once[base] then return once[base] end
  -- On one server the first shard has no hash tag: producers push there and know no tag.
  local prefix, queue = string.match(base, '^(.*):([^:]*):$')
  local tag = string.sub(prefix, 1, 1) == '{' and prefix or '{' .. prefix .. '}'
  local shard = {
    base = base,
    tag = tag,
    wait = base .. 'wait',
    prioritized = base .. 'prioritized',
    counter = base .. 'pc',
    active = base .. 'active',
    delayed = base .. 'delayed',
    failed = base .. 'failed',
    stalled = base .. 'stalled',
    meta = base .. 'meta',
    marker = base .. 'marker',
    events = base .. 'events',
    order = 'fair-order:' .. tag .. ':' .. queue,
    weights = 'account-weights:' .. tag,
    counts = 'held-counts:' .. tag,
    counted = 'counted-as-held:' .. tag,
    behind_heads = 'behind-heads:' .. tag,
    wake_ups = 'looks:' .. tag,
  }
  once[base] = shard
  return shard
end

local function held_of(shard, endpoint)
  return 'held:' .. shard.tag .. ':' .. endpoint
end

local function lane_of(shard, lane)
  return 'lane:' .. shard.tag .. ':' .. lane
end

local function carried_of(shard, lane)
  return 'carried:' .. shard.tag .. ':' .. lane
end

local function grouped_of(shard, endpoint)
  return 'grouped:' .. shard.tag .. ':' .. endpoint
end

local function lines_of(shard, endpoint)
  return 'lines:' .. shard.tag .. ':' .. endpoint
end

local function batches_of(shard, endpoint)
  return 'batches:' .. shard.tag .. ':' .. endpoint
end

local function lane_job(lane)
  return 'lane/' .. lane
end

--- Whether it is still the job of the worker that has locked it with this token.
local function is_locked_with(shard, job, token)
  return redis.call('GET', shard.base .. job .. ':lock') == token
end

local function delivery_job(event, endpoint)
  return event .. '.' .. endpoint
end

local function batch_job(name, endpoint)
  return 'batch/' .. name .. '.' .. endpoint
end
