--- A log is a sorted set whose members begin with the id of the entry, and so with its time. There is no bound by count where
--- entries move to the history.

local function has_entry(log, id)
  return redis.call('ZLEXCOUNT', log, '[' .. id, '(' .. id .. '\255') > 0
end

local function append_entry(log, id, entry, count, oldest, age)
  if has_entry(log, id) then return end
  redis.call('ZADD', log, 0, id .. entry)
  redis.call('ZREMRANGEBYLEX', log, '-', '(' .. oldest)
  if count ~= '' then redis.call('ZREMRANGEBYRANK', log, 0, -tonumber(count) - 1) end
  redis.call('PEXPIRE', log, age)
end
