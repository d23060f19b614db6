--- Gives whether it was not paused before.
---@change
---@key pauses = pauses
---@param subject text
---@param pause text
---@return boolean
function note_pause(pauses, subject, pause)
  if was_made() then return true end
  if redis.call('HSETNX', pauses, subject, pause) == 0 then return false end
  record_act()
  return true
end

--- Gives whether it was paused.
---@change
---@key pauses = pauses
---@param subject text
---@return boolean
function note_resumption(pauses, subject)
  if was_made() then return true end
  if redis.call('HDEL', pauses, subject) == 0 then return false end
  record_act()
  return true
end
