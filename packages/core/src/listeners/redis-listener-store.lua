--- Gives whether the listener still has this holder.
---@with endpoint EndpointId
---@key listener = listener(endpoint)
---@param holder text
---@param hold_ms digits
---@return boolean
function renew(listener, holder, hold_ms)
  if redis.call('GET', listener) ~= holder then return false end
  redis.call('PEXPIRE', listener, hold_ms)
  return true
end

---@with endpoint EndpointId
---@key listener = listener(endpoint)
---@param holder text
function let_go(listener, holder)
  if redis.call('GET', listener) == holder then redis.call('DEL', listener) end
end
