--- Asks for a try, unless one is due before. The time always changes: the one who makes a try now sees at its end that another
--- one is wanted.
---@key due_tries = verificationsDue
---@param endpoint text       account/endpoint
---@param at integer
function ask_for_try(due_tries, endpoint, at)
  local due_at = tonumber(redis.call('ZSCORE', due_tries, endpoint) or math.huge)
  redis.call('ZADD', due_tries, string.format('%d', math.min(due_at - 1, at)), endpoint)
end

--- A try that was asked for while one is under way waits for its end.
---@key due_tries = verificationsDue
---@key under_way = verificationsUnderWay
---@param now integer
---@param most digits
---@param claimed_until digits
---@return text[]             account/endpoint of each
function claim_due_tries(due_tries, under_way, now, most, claimed_until)
  local claimed = {}
  for _, endpoint in ipairs(redis.call('ZRANGEBYSCORE', due_tries, '-inf', now, 'LIMIT', 0, most)) do
    local busy_until = tonumber(redis.call('ZSCORE', under_way, endpoint) or 0)
    if busy_until > now then
      redis.call('ZADD', due_tries, string.format('%d', busy_until + 1), endpoint)
    else
      redis.call('ZADD', due_tries, claimed_until, endpoint)
      redis.call('ZADD', under_way, claimed_until, endpoint)
      table.insert(claimed, endpoint)
    end
  end
  return claimed
end

--- A try that was asked for meanwhile is due now.
---@key due_tries = verificationsDue
---@key under_way = verificationsUnderWay
---@param endpoint text       account/endpoint
---@param claimed_until integer
---@param next_at digits?
---@param now integer
function end_try(due_tries, under_way, endpoint, claimed_until, next_at, now)
  if tonumber(redis.call('ZSCORE', under_way, endpoint) or 0) ~= claimed_until then return end
  redis.call('ZREM', under_way, endpoint)
  local due_at = tonumber(redis.call('ZSCORE', due_tries, endpoint) or 0)
  if due_at ~= claimed_until then
    if due_at > now then redis.call('ZADD', due_tries, now, endpoint) end
  elseif next_at then
    redis.call('ZADD', due_tries, next_at, endpoint)
  else
    redis.call('ZREM', due_tries, endpoint)
  end
end
