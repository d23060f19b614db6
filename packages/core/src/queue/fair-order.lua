---@const FREE_STARTS, MAX_PRIORITY, POSITIONS_KEPT_MS ./fair-order
---@const PRIORITY_SCORE ./bullmq-layout

--- For scripts that add jobs or put them back. Gives three functions. The first takes account, flow and length of a step, and
--- gives the job's priority. Call the second when all jobs have their priorities. The third takes an account and those of its
--- flows that the first will be asked for, so that one command reads where they are. The keys share a hash tag. Scripts that run
--- as one share all three.
---
--- The state is a hash: `base` is the position with priority 1, `last` the largest so far. Beside it is a sorted set for each
--- account: flow → position of its last job, and `''` → how many of its flows have begun.
local function fair_order(prioritized, state, weights)
  local made = once['fair order ' .. state]
  if made then return made.priority_of, made.finish, made.look_up end
  local kept = redis.call('HMGET', state, 'base', 'last')
  local base, last = tonumber(kept[1] or '0'), tonumber(kept[2] or '0')
  local head = redis.call('ZRANGE', prioritized, 0, 0, 'WITHSCORES')
  local now = last
  if head[2] then
    now = base + math.max(math.floor(tonumber(head[2]) / PRIORITY_SCORE) - 1, 0)
  else
    base = last
  end
  local accounts = {}

  local function account_of(account)
    if accounts[account] then return accounts[account] end
    local flows = state .. ':' .. account
    redis.call('ZREMRANGEBYSCORE', flows, '-inf', string.format('(%.3f', now))
    local begun, waiting = redis.call('ZSCORE', flows, ''), redis.call('ZCARD', flows)
    local known = {
      flows = flows,
      weight = tonumber(redis.call('HGET', weights, account) or '1'),
      begun = tonumber(begun or '0'),
      waiting = begun and waiting - 1 or waiting,
      positions = {},
    }
    accounts[account] = known
    return known
  end

  local function look_up(account, flows)
    local known = account_of(account)
    for i, position in ipairs(redis.call('ZMSCORE', known.flows, unpack(flows))) do
      local flow = flows[i]
      if known.positions[flow] == nil then known.positions[flow] = tonumber(position) or false end
    end
  end

  local function priority_of(account, flow, step)
    local known = account_of(account)
    local step_length = step / known.weight
    if known.positions[flow] == nil then look_up(account, { flow }) end
    local mine = known.positions[flow]
    local position
    if mine then
      position = mine + step_length * known.waiting
    else
      known.begun = math.max(known.begun, now) + step_length
      known.waiting = known.waiting + 1
      known.positions[''] = known.begun
      position = math.max(now, known.begun - FREE_STARTS * step_length)
    end
    known.positions[flow] = position
    if position > last then last = position end
    return math.min(math.floor(position - base) + 1, MAX_PRIORITY)
  end

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

  local function store()
    redis.call('HSET', state, 'base', string.format('%.3f', base), 'last', string.format('%.3f', last))
    for _, known in pairs(accounts) do
      store_positions(known)
    end
  end
  local function finish()
    at_end('store ' .. state, store)
  end
  once['fair order ' .. state] = { priority_of = priority_of, finish = finish, look_up = look_up }
  return priority_of, finish, look_up
end
