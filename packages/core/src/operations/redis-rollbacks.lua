---@include ../platform/redis-time.lua

--- Further than any process can have seen the number before: no two of them find the same loss one after the other.
local FAR = 1000

--- Counts on, unless this Redis has gone back, or another process counts.
---@key epoch
---@param known integer         the newest number that the caller has seen
---@param counter text          the caller
---@param may_take boolean      whether it may count in place of one that has not counted for so long
---@param leased_ms integer
---@reply state 'counted'|'by_other'|'free'|'gone_back'
---@reply number integer
---@reply now integer
---@reply counted_at integer?   when it was counted the last time before
function count_epoch(epoch, known, counter, may_take, leased_ms)
  local found = redis.call('HMGET', epoch, 'number', 'at', 'by')
  local number, at, now = tonumber(found[1] or 0), tonumber(found[2]), time_now()
  local state = 'counted'
  if number < known then
    state = 'gone_back'
  elseif found[3] ~= counter then
    -- At a fail-over the clock may jump.
    if found[3] and at and math.abs(now - at) < leased_ms then
      state = 'by_other'
    elseif not may_take then
      state = 'free'
    end
  end
  if state == 'counted' then
    number = number + 1
    -- Two writes are a transaction in the append-only file. A Redis that refuses those when it replays its file loses this one too.
    redis.call('HSET', epoch, 'number', number)
    redis.call('HSET', epoch, 'at', now, 'by', counter)
  end
  return reply { state = state, number = number, now = now, counted_at = at }
end

--- A loss is on record: the number is newer again than any that was seen. Gives whether nobody else did so.
---@key epoch
---@param before integer      the number that showed it
---@param known integer
---@return boolean
function settle_epoch(epoch, before, known)
  if tonumber(redis.call('HGET', epoch, 'number') or 0) ~= before then return false end
  redis.call('HSET', epoch, 'number', known + FAR, 'at', time_now())
  redis.call('HDEL', epoch, 'by')
  return true
end
