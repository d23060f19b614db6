---@include ../former-order/redis-former-order.lua
---@include ./redis-lanes-look.lua
---@include ../../queue/bullmq-lanes.lua
---@const ORDER_KEPT_MS ./limits

-- Deliveries of an order that have jobs of their own, and are in no lane: see `BesideLanes`. A lane waits for those that are before its
-- head. `order` has their places by the time of acceptance: of the whole endpoint or, with the name of a line behind it, of a group.
-- `lanes` tells of which group each is.

--- Those that have a place keep it.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key lanes = lanes(endpoint)
---@param events EventId[]
---@param accepted_at digits[]    of each
---@param lane_of_each text[]     empty: that of the whole endpoint
---@param are_new boolean[]       accepted just now
function join_order(order, lanes, events, accepted_at, lane_of_each, are_new)
  for i, event in ipairs(events) do
    local lane, place = lane_of_each[i], accepted_at[i]
    local lane_order = order .. lane
    if are_new[i] then place = place_of_new(lane_order, event, place) end
    redis.call('ZADD', lane_order, 'NX', place, event)
    -- A process with a former record of the endpoint may be the last to give places, which nobody looks at any more.
    redis.call('PEXPIRE', lane_order, ORDER_KEPT_MS)
    if lane ~= '' then
      redis.call('HSET', lanes, event, lane)
      redis.call('PEXPIRE', lanes, ORDER_KEPT_MS)
      -- A script that runs together with this one may have found none.
      once[lanes] = true
    end
  end
end

--- A delivery makes room. Gives whether it had a place: others may wait for it.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key lanes = lanes(endpoint)
---@key turn = turn(endpoint)
---@key ready = ready(endpoint)
---@key coalescing = coalescing(endpoint)
---@param event EventId
---@return boolean
function leave_order(order, lanes, turn, ready, coalescing, event)
  local group = redis.call('HGET', lanes, event)
  local lane = group or ''
  if group then redis.call('HDEL', lanes, event) end
  local had_place = redis.call('ZREM', order .. lane, event) == 1
  leave_turn(order, turn, ready, coalescing, lane, event)
  return had_place
end

--- The delivery that goes before this one, if there is one.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key lanes = lanes(endpoint)
---@param event EventId
---@return EventId?
function find_first_before(order, lanes, event)
  local first = redis.call('ZRANGE', order .. (redis.call('HGET', lanes, event) or ''), 0, 0)[1]
  return first ~= event and first
end

--- Those that lanes may wait for: the first one of the whole endpoint, and those of the groups, some at a time and seldom.
---@with endpoint EndpointId
---@key order = order(endpoint)
---@key lanes = lanes(endpoint)
---@key look = lanesLook(endpoint)
---@return EventId[]
function look_beside_lanes(order, lanes, look)
  local found = redis.call('ZRANGE', order, 0, 0)
  if redis.call('EXISTS', lanes) == 0 then return found end
  for _, lane in ipairs(lanes_to_look_at(order, lanes, look)) do
    table.insert(found, redis.call('ZRANGE', order .. lane, 0, 0)[1])
  end
  return found
end
