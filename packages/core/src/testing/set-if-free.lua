--- A change for tests.
---@change
---@key thing
---@param value text
---@return 'set'|'taken'
function set_if_free(thing, value)
  if was_made() then return 'set' end
  if redis.call('EXISTS', thing) == 1 then return 'taken' end
  redis.call('SET', thing, value)
  record_act()
  return 'set'
end
