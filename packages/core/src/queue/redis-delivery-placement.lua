--- A job that is taken over in its own shard keeps the claim: BullMQ's lock keeps others of that shard away. Gives whether this
--- shard holds it.
---@with endpoint EndpointId
---@with event EventId
---@key claim = sending(endpoint, event)
---@param shard text
---@param claim_ms digits
---@return boolean
function claim_delivery(claim, shard, claim_ms)
  local holder = redis.call('GET', claim)
  if holder and holder ~= shard then return false end
  redis.call('SET', claim, shard, 'PX', claim_ms)
  return true
end

---@with endpoint EndpointId
---@with event EventId
---@key claim = sending(endpoint, event)
---@param shard text
function release_delivery(claim, shard)
  if redis.call('GET', claim) == shard then redis.call('DEL', claim) end
end
