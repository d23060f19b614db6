--- Saving it again changes nothing.
---@change
---@key api_key = apiKey(id)
---@with id text
---@param record text
function save_api_key(api_key, record)
  if was_made() then return end
  if redis.call('GET', api_key) == record then return end
  redis.call('SET', api_key, record)
  record_act()
end

--- Gives whether it was still as it was read.
---@change
---@key api_key = apiKey(id)
---@with id text
---@param before text
---@param after text
---@return boolean
function replace_api_key(api_key, before, after)
  if was_made() then return true end
  if redis.call('GET', api_key) ~= before then return false end
  redis.call('SET', api_key, after)
  record_act()
  return true
end

--- Gives whether it existed.
---@change
---@with id text
---@key api_key = apiKey(id)
---@key used = apiKeyUsed(id)
---@return boolean
function remove_api_key(api_key, used)
  if was_made() then return true end
  if redis.call('UNLINK', api_key, used) == 0 then return false end
  record_act()
  return true
end

--- Whether a key may be removed that relies on another one to stay: of two that rely on each other, only one may.
---@with account AccountId
---@key leaving = apiKeysLeaving(account)
---@param leaving_id text
---@param staying_id text?
---@param seconds digits
---@return boolean
function leave_api_keys(leaving, leaving_id, staying_id, seconds)
  if staying_id and redis.call('SISMEMBER', leaving, staying_id) == 1 then return false end
  redis.call('SADD', leaving, leaving_id)
  redis.call('EXPIRE', leaving, seconds)
  return true
end

--- A key that was revoked meanwhile must leave nothing behind.
---@with id text
---@key api_key = apiKey(id)
---@key used = apiKeyUsed(id)
---@param used_at digits
function note_api_key_use(api_key, used, used_at)
  if redis.call('EXISTS', api_key) == 1 then redis.call('SET', used, used_at) end
end
