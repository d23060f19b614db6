--- Gives whether there was room. The record is the same when a create is repeated.
---@change
---@with account AccountId
---@key contacts = contacts(account)
---@param id ContactId
---@param record text
---@param most integer
---@return boolean
function create_contact(contacts, id, record, most)
  if was_made() then return true end
  if redis.call('HEXISTS', contacts, id) == 1 then return true end
  if redis.call('HLEN', contacts) >= most then return false end
  redis.call('HSET', contacts, id, record)
  record_act()
  return true
end

--- Unless it has changed meanwhile.
---@change
---@with account AccountId
---@key contacts = contacts(account)
---@param id ContactId
---@param before text
---@param after text
---@return boolean
function replace_contact(contacts, id, before, after)
  if was_made() then return true end
  if redis.call('HGET', contacts, id) ~= before then return false end
  redis.call('HSET', contacts, id, after)
  record_act()
  return true
end

--- Gives whether it existed.
---@change
---@with account AccountId
---@key contacts = contacts(account)
---@param id ContactId
---@return boolean
function remove_contact(contacts, id)
  if was_made() then return true end
  if redis.call('HDEL', contacts, id) == 0 then return false end
  record_act()
  return true
end
