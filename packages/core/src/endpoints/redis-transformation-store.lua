--- So many are kept of each endpoint: the newest, of which the last is the one in force.
local KEPT_VERSIONS = 20

--- Gives its number.
---@with endpoint EndpointId
---@key versions = transformations(endpoint)
---@param saved text
---@return integer
function save_version(versions, saved)
  local version = redis.call('HINCRBY', versions, 'last', 1)
  redis.call('HSET', versions, string.format('%d', version), saved)
  redis.call('HDEL', versions, string.format('%d', version - KEPT_VERSIONS))
  return version
end
