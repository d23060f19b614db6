--- The window begins with the first one that is counted, and ends by the server's clock. Gives how long to wait, 0 if not.
---@key counts
---@param within_ms digits
---@param names text[]
---@param most integer[]      of each name
---@return integer
function count_one(counts, within_ms, names, most)
  for i, name in ipairs(names) do
    if tonumber(redis.call('HGET', counts, name) or 0) >= most[i] then
      return math.max(redis.call('PTTL', counts), 1)
    end
  end
  for _, name in ipairs(names) do
    redis.call('HINCRBY', counts, name, 1)
  end
  if redis.call('PTTL', counts) < 0 then redis.call('PEXPIRE', counts, within_ms) end
  return 0
end
