---@const ERASED_LOG_START ../domain/delivery-fact

-- The one way in which a script appends to a delivery's log, so that a log whose event's payload is erased gets nothing of it
-- again. See `linesToAppend` for the two forms of a line.

--- The key that says of a log that it lapses.
local function lapsing_key_of(log)
  local endpoint, event = string.match(log, '{(.-)}:(.*)$')
  return keys.lapsing(endpoint, event)
end

--- Whether the history has a log, which is about to expire here. It is in no list, and gets no line any more: nobody would move
--- that.
local function has_log_lapsed(log)
  return redis.call('EXISTS', lapsing_key_of(log)) == 1
end

--- Gives the form of the line that was appended. Nil: the log is not that long, or lapses, or nothing of the line may stay.
local function append_line(log, length, line, short_line, kept_ms)
  -- Redis gives `false` for a SET that NX prevents.
  if length == '0' then return redis.call('SET', log, line, 'PX', kept_ms, 'NX') and line or nil end
  if redis.call('STRLEN', log) ~= tonumber(length) or has_log_lapsed(log) then return end
  if #line > #short_line then
    local start = redis.call('GETRANGE', log, 0, #ERASED_LOG_START - 1)
    if start == ERASED_LOG_START then line = short_line end
  end
  if line == '' then return end
  redis.call('APPEND', log, line)
  redis.call('PEXPIRE', log, kept_ms)
  return line
end

--- Whether an attempt's line stands where a log of this length got it, whatever was appended after it: then a script comes
--- again, since its reply was lost. No other attempt has the same line.
local function has_line_at(log, length, line, short_line)
  local there = redis.call('GETRANGE', log, length, length + #line - 1)
  return there == line or string.sub(there, 1, #short_line) == short_line
end
