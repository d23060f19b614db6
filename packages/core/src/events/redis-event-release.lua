--- Gives the size of each event that is gone; 0 for those that stay: an endpoint's list still has them, or a delivery has not
--- ended.
---@keys event_keys                each event, and behind it its receivers
---@param endpoints text[]         whose list has let go of each; empty: the account's
---@return integer[]
function release_events(event_keys, endpoints)
  local freed = {}
  for i, endpoint in ipairs(endpoints) do
    local event_key, receivers = event_keys[2 * i - 1], event_keys[2 * i]
    if endpoint ~= '' then redis.call('ZREM', receivers, endpoint) end
    freed[i] = 0
    if redis.call('EXISTS', receivers) == 0 then
      freed[i] = redis.call('STRLEN', event_key)
      redis.call('UNLINK', event_key)
    end
  end
  return freed
end
