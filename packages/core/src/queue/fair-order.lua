---@const FREE_STARTS, MAX_PRIORITY, POSITIONS_KEPT_MS ./fair-order
---@const PRIORITY_SCORE ./bullmq-layout

-- For scripts that add jobs or put them back. The state is a hash: `base` is the position with priority 1, `last` the largest so far.
-- Beside it is a sorted set for each account: flow → position of its last job, and `''` → how many of its flows have begun. Scripts
-- that run as one read it once, and write it when all are over.

local function store_positions(known)
  local scored = {}
  for flow, position in pairs(known.positions) do
    if position then
      scored[#scored + 1] = string.format('%.3f', position)
      scored[#scored + 1] = flow
    end
    if #scored >= 2000 then
      redis.call('ZADD', known.flows, unpack(scored))
      scored = {}
    end
  end
  if #scored > 0 then redis.call('ZADD', known.flows, unpack(scored)) end
  redis.call('PEXPIRE', known.flows, POSITIONS_KEPT_MS)
end

local function positions_in(shard)
  local order = shard.positions
  if order then return order end
  local kept = redis.call('HMGET', shard.order, 'base', 'last')
  order = { base = tonumber(kept[1] or '0'), last = tonumber(kept[2] or '0'), accounts = {} }
  shard.positions = order
  local head = redis.call('ZRANGE', shard.prioritized, 0, 0, 'WITHSCORES')
  order.now = order.last
  if head[2] then
    order.now = order.base + math.max(math.floor(tonumber(head[2]) / PRIORITY_SCORE) - 1, 0)
  else
    order.base = order.last
  end
  at_end('store ' .. shard.order, function()
    local base, last = string.format('%.3f', order.base), string.format('%.3f', order.last)
    redis.call('HSET', shard.order, 'base', base, 'last', last)
    for _, known in pairs(order.accounts) do
      store_positions(known)
    end
  end)
  return order
end

local function account_in_order(shard, account)
  local order = positions_in(shard)
  if order.accounts[account] then return order.accounts[account] end
  local flows = shard.order .. ':' .. account
  redis.call('ZREMRANGEBYSCORE', flows, '-inf', string.format('(%.3f', order.now))
  local begun, waiting = redis.call('ZSCORE', flows, ''), redis.call('ZCARD', flows)
  local known = {
    flows = flows,
    weight = tonumber(redis.call('HGET', shard.weights, account) or '1'),
    begun = tonumber(begun or '0'),
    waiting = begun and waiting - 1 or waiting,
    positions = {},
  }
  order.accounts[account] = known
  return known
end

--- One command reads where these flows are, which `priority_of` will be asked for.
local function look_up(shard, account, flows)
  local known = account_in_order(shard, account)
  for i, position in ipairs(redis.call('ZMSCORE', known.flows, unpack(flows))) do
    local flow = flows[i]
    if known.positions[flow] == nil then known.positions[flow] = tonumber(position) or false end
  end
end

--- The priority of the next job of a flow. `step` is its length, 1 if absent.
local function priority_of(shard, account, flow, step)
  local order, known = positions_in(shard), account_in_order(shard, account)
  local step_length = (step or 1) / known.weight
  if known.positions[flow] == nil then look_up(shard, account, { flow }) end
  local mine = known.positions[flow]
  local position
  if mine then
    position = mine + step_length * known.waiting
  else
    known.begun = math.max(known.begun, order.now) + step_length
    known.waiting = known.waiting + 1
    known.positions[''] = known.begun
    position = math.max(order.now, known.begun - FREE_STARTS * step_length)
  end
  known.positions[flow] = position
  if position > order.last then order.last = position end
  return math.min(math.floor(position - order.base) + 1, MAX_PRIORITY)
end
