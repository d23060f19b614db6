---@const replayEndStatuses ../domain/replay

--- A replay that has ended never changes: a worker in the middle of a step does not undo a cancellation. Gives whether it was
--- saved.
---@change
---@with id ReplayId
---@key replay = replay(id)
---@param status text
---@param progress text
---@param kept_ms digits
---@return boolean
function save_progress(replay, status, progress, kept_ms)
  if was_made() then return true end
  local before = redis.call('HGET', replay, 'status')
  if not before then return false end
  for _, ended in ipairs(replayEndStatuses) do
    if before == ended then return false end
  end
  redis.call('HSET', replay, 'status', status, 'progress', progress)
  redis.call('PEXPIRE', replay, kept_ms)
  record_act()
  return true
end

--- Gives whether it is among those that may run.
---@change
---@with account AccountId
---@key running = runningReplays(account)
---@param id ReplayId
---@param now digits
---@param most integer
---@param kept_ms digits
---@return boolean
function admit_replay(running, id, now, most, kept_ms)
  if was_made() then return true end
  if not redis.call('ZSCORE', running, id) then
    if redis.call('ZCARD', running) >= most then return false end
    redis.call('ZADD', running, now, id)
    record_act()
  end
  redis.call('PEXPIRE', running, kept_ms)
  return true
end
