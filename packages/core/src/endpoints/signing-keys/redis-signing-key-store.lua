--- Unless they have changed meanwhile.
---@change
---@with account AccountId
---@key signing_keys = signingKeys(account)
---@param before text?
---@param after text
---@return boolean
function replace_signing_keys(signing_keys, before, after)
  if was_made() then return true end
  if redis.call('GET', signing_keys) ~= (before or false) then return false end
  redis.call('SET', signing_keys, after)
  record_act()
  return true
end
