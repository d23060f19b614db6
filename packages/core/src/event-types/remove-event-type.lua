--- Removing an unknown type is no error.
---@change
---@key types = eventTypes
---@arg name text

if redis.call('HDEL', types, name) == 1 then record_act() end
