--- An entry that is there gets this time.
---@key over = over
---@param at digits
---@param entries text[]
function add_over(over, at, entries)
  for _, entry in ipairs(entries) do
    redis.call('ZADD', over, at, entry)
  end
end

---@key over = over
---@param at digits
---@param entries text[]
function add_missing_over(over, at, entries)
  for _, entry in ipairs(entries) do
    redis.call('ZADD', over, 'NX', at, entry)
  end
end

--- Gives each with when it was due.
---@key over = over
---@param due_until digits
---@param most digits
---@param due_again_at digits
---@return text[]
function claim_over(over, due_until, most, due_again_at)
  local due = redis.call('ZRANGEBYSCORE', over, '-inf', due_until, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #due, 2 do
    redis.call('ZADD', over, due_again_at, due[i])
  end
  return due
end

--- An entry that was added again since then stays.
---@key over = over
---@key set_aside = setAside
---@param claimed_until integer
---@param entries text[]
---@param due_again text[]        when each is due again; empty: never
function settle_over(over, set_aside, claimed_until, entries, due_again)
  local is_any_aside = redis.call('EXISTS', set_aside) == 1
  for i, entry in ipairs(entries) do
    local score = redis.call('ZSCORE', over, entry)
    if score and tonumber(score) == claimed_until then
      if due_again[i] ~= '' then
        redis.call('ZADD', over, due_again[i], entry)
      else
        redis.call('ZREM', over, entry)
        if is_any_aside then redis.call('HDEL', set_aside, entry) end
      end
    end
  end
end

--- Gives whether it was still claimed.
---@key over = over
---@key set_aside = setAside
---@param claimed_until integer
---@param entry text
---@param why text
---@return boolean
function set_over_aside(over, set_aside, claimed_until, entry, why)
  local score = redis.call('ZSCORE', over, entry)
  if not score or tonumber(score) ~= claimed_until then return false end
  redis.call('ZREM', over, entry)
  redis.call('HSET', set_aside, entry, why)
  return true
end

--- One that was set aside again meanwhile stays. Gives how many were put back.
---@key over = over
---@key set_aside = setAside
---@param at digits
---@param entries text[]
---@param reasons text[]          of each, as it was read
---@return integer
function put_over_back(over, set_aside, at, entries, reasons)
  local count = 0
  for i, entry in ipairs(entries) do
    if redis.call('HGET', set_aside, entry) == reasons[i] then
      redis.call('HDEL', set_aside, entry)
      redis.call('ZADD', over, at, entry)
      count = count + 1
    end
  end
  return count
end

---@key lease = historySweep
---@param worker text
---@param lease_ms digits
---@return boolean
function lease_sweep(lease, worker, lease_ms)
  local holder = redis.call('GET', lease)
  if holder and holder ~= worker then return false end
  redis.call('SET', lease, worker, 'PX', lease_ms)
  return true
end

---@key over = over
---@key set_aside = setAside
---@param entries text[]
function forget_over(over, set_aside, entries)
  redis.call('ZREM', over, unpack(entries))
  redis.call('HDEL', set_aside, unpack(entries))
end
