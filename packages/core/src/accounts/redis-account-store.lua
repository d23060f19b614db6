--- The id of an erased account stays taken until no data of that time can come back.
---@change
---@key accounts = accounts
---@key account_ids = accountIds
---@key erased_accounts = erasedAccounts
---@param id AccountId
---@param record text
---@param member text      of the list of ids
---@param now integer
---@return boolean      whether it is new
function create_account(accounts, account_ids, erased_accounts, id, record, member, now)
  if was_made() then return true end
  local taken_until = redis.call('ZSCORE', erased_accounts, id)
  if taken_until and tonumber(taken_until) > now then return false end
  if redis.call('HSETNX', accounts, id, record) == 0 then return false end
  redis.call('ZREM', erased_accounts, id)
  redis.call('ZADD', account_ids, 0, member)
  record_act()
  return true
end

--- Unless it has changed meanwhile.
---@change
---@key accounts = accounts
---@param id AccountId
---@param before text
---@param after text
---@return boolean
function replace_account(accounts, id, before, after)
  if was_made() then return true end
  if redis.call('HGET', accounts, id) ~= before then return false end
  redis.call('HSET', accounts, id, after)
  record_act()
  return true
end

--- Forgets an account but for its id.
---@key accounts = accounts
---@key account_ids = accountIds
---@key erased_accounts = erasedAccounts
---@param id AccountId
---@param member text           of the list of ids
---@param now digits
---@param taken_until digits    until when the id is not given again
function remove_account(accounts, account_ids, erased_accounts, id, member, now, taken_until)
  redis.call('HDEL', accounts, id)
  redis.call('ZREM', account_ids, member)
  redis.call('ZADD', erased_accounts, taken_until, id)
  redis.call('ZREMRANGEBYSCORE', erased_accounts, '-inf', now)
end
