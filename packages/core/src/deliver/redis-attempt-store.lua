---@include ../endpoints/admission/redis-admission-store.lua
---@include ../endpoints/admission/redis-breaker.lua
---@include ../events/redis-log-lines.lua
---@const MAX_ANSWER_BYTES ../domain/attempt

--- How many bytes of responses an endpoint has left behind.
local function answer_level_of(answers, kept_ms, now)
  local level, at = string.match(redis.call('GET', answers) or '0 0', '(%d+) (%d+)')
  local leaked = math.max(now - tonumber(at), 0) * MAX_ANSWER_BYTES / tonumber(kept_ms)
  return math.max(tonumber(level) - leaked, 0)
end

local function keep_answer_level(answers, level, kept_ms, now)
  redis.call('SET', answers, string.format('%d %d', level, now), 'PX', kept_ms)
end

--- Everything that an attempt leaves behind, in one step: a reader that finds it recorded finds all its effects.
---
--- The fan-out's process may have died before the delivery was listed, so this lists it as well. The list of an endpoint that is
--- gone does not come back.
---
--- Nothing at all is written if the log has changed since the attempt was prepared: another worker has continued the delivery.
--- An attempt that sent nothing leaves the breaker as it was before it: if it was the probe, the next one may be.
---
--- A connection that breaks may lose the reply, and ioredis sends the script again: then the log has this very line where it was
--- appended, and the effects are read from what the first run has left. A breaker that is closed by then says no more since when
--- it was open.
---@guard
---@with endpoint EndpointId
---@key log = delivery(endpoint, event)
---@key list = deliveries(endpoint)
---@key answers = answerBytes(endpoint)
---@key breaker = breaker(endpoint)
---@key recent = recentAttempts(endpoint) if attempt
---@key rate_waiting = rateWaiting(endpoint) if attempt
---@param event EventId
---@param log_length digits        when the attempt was prepared
---@param line text
---@param short_line text          without the response
---@param kept_ms digits
---@param accepted_at integer      the position of the delivery in the list
---@param verdict 'success'|'failure'|'says_nothing'  of the receiver
---@param now integer              the worker's
---@param was_open_until integer   of the breaker at the admission of the attempt; 0: it was closed
---@param notifies_of_failing boolean to the account
---@param attempt text?            counts it for the rate limit
---@param must_be_listed boolean   one of which nothing is left has neither a log nor a place in the list
---@reply failures integer         failed attempts since the last success
---@reply opened_until integer?    whether this failure opened the breaker, or kept it open, and until when
---@reply failing_since integer?   when the first attempt since the last success failed; none after a success
---@reply has_closed boolean       whether this success has closed a breaker that was open
---@reply recovered_from integer?  when the failures began that this success ends, if the account got a message about them
---@reply is_rate_waited_for boolean whether deliveries are held for the rate limit
function record_attempt(
  log,
  list,
  answers,
  breaker,
  recent,
  rate_waiting,
  event,
  log_length,
  line,
  short_line,
  kept_ms,
  accepted_at,
  verdict,
  now,
  was_open_until,
  notifies_of_failing,
  attempt,
  must_be_listed
)
  local is_listed = redis.call('ZSCORE', list, event)
  if must_be_listed and not is_listed and log_length == '0' then return stop() end
  local written, answer_level = line, nil
  if #line > #short_line then
    answer_level = answer_level_of(answers, kept_ms, now) + #line - #short_line
    if answer_level > MAX_ANSWER_BYTES then written = short_line end
  end
  local appended = append_line(log, log_length, written, short_line, kept_ms)
  if not appended then
    if not has_line_at(log, log_length, line, short_line) then return stop() end
    local is_waited_for = attempt and redis.call('EXISTS', rate_waiting) == 1
    local state = verdict == 'failure' and read_breaker(breaker) or { failures = 0, open_until = 0 }
    return reply {
      failures = state.failures,
      opened_until = state.open_until > now and state.open_until,
      failing_since = state.failing_since,
      has_closed = verdict == 'success' and was_open_until ~= 0,
      is_rate_waited_for = is_waited_for,
    }
  end

  if answer_level and appended == line then keep_answer_level(answers, answer_level, kept_ms, now) end
  if not is_listed and redis.call('EXISTS', list) == 1 then redis.call('ZADD', list, accepted_at, event) end
  local is_waited_for = false
  if attempt then
    redis.call('ZADD', recent, 'XX', end_of_window(), attempt)
    is_waited_for = redis.call('EXISTS', rate_waiting) == 1
  end

  local state = read_breaker(breaker)
  if verdict == 'says_nothing' then
    if state and was_open_until ~= 0 then
      state.open_until = was_open_until
      state.is_probing = false
      write_breaker(breaker, state)
    end
    return reply { is_rate_waited_for = is_waited_for }
  end
  if verdict == 'success' then
    if state then redis.call('DEL', breaker) end
    return reply {
      has_closed = state and state.open_until ~= 0,
      recovered_from = state and state.is_notified and state.failing_since,
      is_rate_waited_for = is_waited_for,
    }
  end
  state = state or { failures = 0, open_until = 0 }
  local opened_until = count_failure(state, now, was_open_until ~= 0)
  if notifies_of_failing then state.is_notified = true end
  write_breaker(breaker, state)
  return reply {
    failures = state.failures,
    opened_until = opened_until,
    failing_since = state.failing_since,
    is_rate_waited_for = is_waited_for,
  }
end

--- Records the attempts of the others of a request's deliveries: all of them, or none if the log of one has changed. The record of
--- the representative has the result for the receiver.
---@guard
---@key list = deliveries(endpoint)
---@key recent = recentAttempts(endpoint)
---@key answers = answerBytes(endpoint)
---@param endpoint EndpointId
---@param kept_ms digits
---@param now integer              the worker's
---@param must_be_listed boolean   as above
---@param attempts text[]          count them for the rate limit
---@param events EventId[]
---@param accepted_at integer[]    of each
---@param lines {log_length digits, line text, short_line text, count integer}[]  each for so many of the events
---@reply changed EventId[]        those whose logs have changed
function record_others(
  list,
  recent,
  answers,
  endpoint,
  kept_ms,
  now,
  must_be_listed,
  attempts,
  events,
  accepted_at,
  lines
)
  local logs, line_of, new_logs = {}, {}, {}
  local prefix = keys.deliveryPrefix(endpoint)
  for _, line in ipairs(lines) do
    local is_new = line.log_length == '0'
    for i = #logs + 1, #logs + line.count do
      logs[i], line_of[i] = prefix .. events[i], line
      if is_new then new_logs[#new_logs + 1] = logs[i] end
    end
  end

  local listed = redis.call('ZMSCORE', list, unpack(events))
  local are_all_new = #new_logs == #events and redis.call('EXISTS', unpack(new_logs)) == 0
  local changed, is_there = {}, {}
  for i, event in ipairs(events) do
    local each, log = line_of[i], logs[i]
    if must_be_listed and not listed[i] and each.log_length == '0' then
      changed[#changed + 1] = event
    elseif not are_all_new and (redis.call('STRLEN', log) ~= tonumber(each.log_length) or has_log_lapsed(log)) then
      is_there[i] = has_line_at(log, each.log_length, each.line, each.short_line)
      if not is_there[i] then changed[#changed + 1] = event end
    end
  end
  if #changed > 0 then return stop { changed = changed } end

  local level
  for i, log in ipairs(logs) do
    local each = line_of[i]
    local written, more = each.line, #each.line - #each.short_line
    if more > 0 and not is_there[i] then
      level = level or answer_level_of(answers, kept_ms, now)
      if level + more > MAX_ANSWER_BYTES then written = each.short_line end
    end
    local appended = not is_there[i] and append_line(log, each.log_length, written, each.short_line, kept_ms)
    if more > 0 and appended == each.line then level = level + more end
  end
  if level then keep_answer_level(answers, level, kept_ms, now) end

  local missing = {}
  for i, event in ipairs(events) do
    if not listed[i] then
      missing[#missing + 1] = accepted_at[i]
      missing[#missing + 1] = event
    end
  end
  if #missing > 0 and redis.call('EXISTS', list) == 1 then redis.call('ZADD', list, unpack(missing)) end
  local counted = {}
  for _, attempt in ipairs(attempts) do
    counted[#counted + 1] = end_of_window()
    counted[#counted + 1] = attempt
  end
  if #counted > 0 then redis.call('ZADD', recent, 'XX', unpack(counted)) end
  return reply { changed = {} }
end
