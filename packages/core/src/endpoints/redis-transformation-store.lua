--- A version that is brought back has a number that is not given again.
---@with endpoint EndpointId
---@key versions = transformations(endpoint)
---@param version integer
---@param saved text
function bring_back_version(versions, version, saved)
  redis.call('HSET', versions, string.format('%d', version), saved)
  if tonumber(redis.call('HGET', versions, 'last') or 0) < version then
    redis.call('HSET', versions, 'last', string.format('%d', version))
  end
end
