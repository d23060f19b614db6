--- A later disabling stays.
---@key disabled = disabledEndpoints
---@param address text
---@param until_version integer   the latest version to remove
function leave_disabled(disabled, address, until_version)
  local since = redis.call('ZSCORE', disabled, address)
  if since and tonumber(since) <= until_version then redis.call('ZREM', disabled, address) end
end

---@key breakers = openBreakers
---@param address text
---@param counts_until digits
---@param now digits
---@param longest_ms digits       that any counts
function enter_open_breakers(breakers, address, counts_until, now, longest_ms)
  redis.call('ZREMRANGEBYSCORE', breakers, '-inf', now)
  redis.call('ZADD', breakers, counts_until, address)
  redis.call('PEXPIRE', breakers, longest_ms)
end
