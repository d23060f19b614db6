--- While Redis takes no writes, nobody can have the turn: each worker reads for itself, and nothing is shared. Just then operators need
--- to see how full it is, and which replicas it has.
---@key turn = readingsTurn
---@key readings = readings
---@param caller text
---@param turn_ms digits      how long a turn lasts
---@reply is_ours boolean
---@reply latest text?        the last readings
function take_turn(turn, readings, caller, turn_ms)
  local taken = redis.pcall('SET', turn, caller, 'NX', 'PX', turn_ms)
  return reply { is_ours = taken ~= false, latest = redis.call('GET', readings) }
end

--- A caller that took longer than a turn may be overtaken.
---@key turn = readingsTurn
---@key readings = readings
---@param caller text
---@param text text
---@param kept_ms digits
function save_readings(turn, readings, caller, text, kept_ms)
  if redis.call('GET', turn) == caller then redis.pcall('SET', readings, text, 'PX', kept_ms) end
end
