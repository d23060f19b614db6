---@include ./redis-log-lines.lua

--- The same line for deliveries of an endpoint. Gives those to whose logs it was appended, by their places from 1 on:
--- not if the log has another length by now.
---@keys logs
---@param lengths digits[]       of the logs when they were read
---@param line text
---@param short_line text
---@param kept_ms digits
---@return integer[]
function append_if_unchanged(logs, lengths, line, short_line, kept_ms)
  local appended = {}
  for i, log in ipairs(logs) do
    if append_line(log, lengths[i], line, short_line, kept_ms) then appended[#appended + 1] = i end
  end
  return appended
end

--- Begins the log of a delivery that its endpoint's list has. `changed`: it has a log.
---@with endpoint EndpointId
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@param event EventId
---@param line text
---@param kept_ms digits
---@return 'appended'|'changed'|'not_listed'
function append_if_listed(log, list, event, line, kept_ms)
  if redis.call('EXISTS', log) == 1 then return 'changed' end
  if not redis.call('ZSCORE', list, event) then return 'not_listed' end
  return append_line(log, '0', line, line, kept_ms) and 'appended' or 'changed'
end

--- Before what it says is sent. Gives the new length; 0: nothing was appended.
---@with endpoint EndpointId
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@param event EventId
---@param length digits            of the log when it was read
---@param line text
---@param kept_ms digits
---@param must_be_listed boolean   a delivery without a log in no list may be gone: it stays without
---@return integer
function append_before_sending(log, list, event, length, line, kept_ms, must_be_listed)
  if length == '0' and must_be_listed and not redis.call('ZSCORE', list, event) then return 0 end
  return append_line(log, length, line, '', kept_ms) and redis.call('STRLEN', log) or 0
end

---@with endpoint EndpointId
---@with event EventId
---@key log = delivery(endpoint, event)
---@param line text
---@param short_line text
---@param kept_ms digits
function append(log, line, short_line, kept_ms)
  append_line(log, tostring(redis.call('STRLEN', log)), line, short_line, kept_ms)
end

--- Gives whether the log is as it is to be: not if it has changed since it was read.
---@with endpoint EndpointId
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@param event EventId
---@param expected text            empty: there was none
---@param text text
---@param kept_ms digits           a new one
---@param must_be_listed boolean   a delivery without a log in no list stays without
---@return boolean
function replace_if_unchanged(log, list, event, expected, text, kept_ms, must_be_listed)
  local known = redis.call('GET', log)
  if not known and must_be_listed and not redis.call('ZSCORE', list, event) then return true end
  if (known or '') ~= expected then return false end
  if known then
    redis.call('SET', log, text, 'KEEPTTL')
  else
    redis.call('SET', log, text, 'PX', kept_ms)
  end
  return true
end

--- In one step: a delivery may move to the history, and come back, at any moment.
---@with endpoint EndpointId
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@param event EventId
---@reply text text?
---@reply created_at integer?      its time in the list
function see_delivery(log, list, event)
  local text, created_at = redis.call('GET', log), redis.call('ZSCORE', list, event)
  return reply { text = text, created_at = created_at and tonumber(created_at) }
end

--- Whether the history has its log, which gets nothing any more.
---@with endpoint EndpointId
---@with event EventId
---@key log = delivery(endpoint, event)
---@return boolean
function has_lapsed(log)
  return has_log_lapsed(log)
end

---@with endpoint EndpointId
---@with event EventId
---@key log = delivery(endpoint, event)
---@return integer
function length_of_log(log)
  return redis.call('STRLEN', log)
end
