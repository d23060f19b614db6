--- An entry that is there gets this time.
---@key ended = ended
---@param at digits
---@param entries text[]
function add_ended(ended, at, entries)
  for _, entry in ipairs(entries) do
    redis.call('ZADD', ended, at, entry)
  end
end

---@key ended = ended
---@param at digits
---@param entries text[]
function add_missing_ended(ended, at, entries)
  for _, entry in ipairs(entries) do
    redis.call('ZADD', ended, 'NX', at, entry)
  end
end

--- Gives each with when it was due.
---@key ended = ended
---@param due_until digits
---@param most digits
---@param due_again_at digits
---@return text[]
function claim_ended(ended, due_until, most, due_again_at)
  local due = redis.call('ZRANGEBYSCORE', ended, '-inf', due_until, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #due, 2 do
    redis.call('ZADD', ended, due_again_at, due[i])
  end
  return due
end

--- An entry that was added again since then stays.
---@key ended = ended
---@key refused = historyRefused
---@param claimed_until integer
---@param entries text[]
---@param due_again text[]        when each is due again; empty: never
function end_claim(ended, refused, claimed_until, entries, due_again)
  local is_any_refused = redis.call('EXISTS', refused) == 1
  for i, entry in ipairs(entries) do
    local score = redis.call('ZSCORE', ended, entry)
    if score and tonumber(score) == claimed_until then
      if due_again[i] ~= '' then
        redis.call('ZADD', ended, due_again[i], entry)
      else
        redis.call('ZREM', ended, entry)
        if is_any_refused then redis.call('HDEL', refused, entry) end
      end
    end
  end
end

--- Gives whether it was still claimed.
---@key ended = ended
---@key refused = historyRefused
---@param claimed_until integer
---@param entry text
---@param why text
---@return boolean
function note_refused(ended, refused, claimed_until, entry, why)
  local score = redis.call('ZSCORE', ended, entry)
  if not score or tonumber(score) ~= claimed_until then return false end
  redis.call('ZREM', ended, entry)
  redis.call('HSET', refused, entry, why)
  return true
end

--- One that was refused again meanwhile stays. Gives how many were put back.
---@key ended = ended
---@key refused = historyRefused
---@param at digits
---@param entries text[]
---@param reasons text[]          of each, as it was read
---@return integer
function put_refused_back(ended, refused, at, entries, reasons)
  local count = 0
  for i, entry in ipairs(entries) do
    if redis.call('HGET', refused, entry) == reasons[i] then
      redis.call('HDEL', refused, entry)
      redis.call('ZADD', ended, at, entry)
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

---@key ended = ended
---@key refused = historyRefused
---@param entries text[]
function forget_ended(ended, refused, entries)
  redis.call('ZREM', ended, unpack(entries))
  redis.call('HDEL', refused, unpack(entries))
end
