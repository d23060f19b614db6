---@include ../platform/redis-time.lua

--- Gives whether the account was not watched before.
---@key watched = watchedAccounts
---@param account AccountId
---@param watched_ms integer
---@return boolean
function watch(watched, account, watched_ms)
  local now = time_now()
  redis.call('ZREMRANGEBYSCORE', watched, '-inf', now)
  local is_new = redis.call('ZADD', watched, now + watched_ms, account)
  redis.call('PEXPIRE', watched, watched_ms)
  return is_new == 1
end
