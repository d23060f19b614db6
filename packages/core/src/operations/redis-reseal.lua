--- Gives whether it has written: not if the value has changed meanwhile.
---@key key
---@param field text?     of a hash; absent: the key is a string
---@param before text
---@param after text
---@return boolean
function replace_value(key, field, before, after)
  if field then
    if redis.call('HGET', key, field) ~= before then return false end
    redis.call('HSET', key, field, after)
  else
    if redis.call('GET', key) ~= before then return false end
    redis.call('SET', key, after, 'KEEPTTL')
  end
  return true
end
