--- The version of an event type keeps counting. `undefined`: there are as many types as there may be.
---@change
---@key types = eventTypes
---@arg name text
---@arg record text       the new one, without its version
---@arg most integer
---@returns text?
---@made redis.call('HGET', types, name)

local before = redis.call('HGET', types, name)
if not before and redis.call('HLEN', types) >= most then return false end
local version = before and tonumber(string.match(before, '^{"version":(%d+)')) or 0
local versioned = '{"version":' .. string.format('%d', version + 1) .. ',' .. string.sub(record, 2)
redis.call('HSET', types, name, versioned)
record_act()
return versioned
