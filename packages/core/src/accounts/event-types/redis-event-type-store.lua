--- The version of an event type keeps counting. `undefined`: there are as many types as there may be.
---@change
---@key types = eventTypes
---@param name text
---@param record text       the new one, without its version
---@param most integer
---@return text?
function replace_event_type(types, name, record, most)
  if was_made() then return redis.call('HGET', types, name) end
  local before = redis.call('HGET', types, name)
  if not before and redis.call('HLEN', types) >= most then return false end
  local version = before and tonumber(string.match(before, '^{"version":(%d+)')) or 0
  local versioned = '{"version":' .. string.format('%d', version + 1) .. ',' .. string.sub(record, 2)
  redis.call('HSET', types, name, versioned)
  record_act()
  return versioned
end

--- Removing an unknown type is no error.
---@change
---@key types = eventTypes
---@param name text
function remove_event_type(types, name)
  if was_made() then return end
  if redis.call('HDEL', types, name) == 1 then record_act() end
end
