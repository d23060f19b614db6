---@include ../../platform/redis-time.lua

local LANES_LOOK_EVERY_MS = 10000
local LANES_AT_ONCE = 500
-- Nobody looks any more.
local LANES_LOOK_KEPT_MS = 60000

--- Names of lanes of groups in which deliveries have places, some at a time and seldom. Forgets on the way those that have none.
local function lanes_to_look_at(order, lanes, look)
  local found, seen = {}, {}
  local now = time_now()
  local last = redis.call('HMGET', look, 'at', 'cursor')
  if now - tonumber(last[1] or 0) < LANES_LOOK_EVERY_MS then return found end
  local page = redis.call('HSCAN', lanes, last[2] or '0', 'COUNT', LANES_AT_ONCE)
  redis.call('HSET', look, 'at', string.format('%d', now), 'cursor', page[1])
  redis.call('PEXPIRE', look, LANES_LOOK_KEPT_MS)
  for i = 2, #page[2], 2 do
    local event, lane = page[2][i - 1], page[2][i]
    if not redis.call('ZSCORE', order .. lane, event) then
      redis.call('HDEL', lanes, event)
    elseif not seen[lane] then
      seen[lane] = true
      found[#found + 1] = lane
    end
  end
  return found
end
