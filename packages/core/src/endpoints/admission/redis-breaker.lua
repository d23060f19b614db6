---@const BREAKER_KEPT_MS, FAILURES_TO_OPEN, MAX_OPEN_MS, MIN_OPEN_MS, OPEN_SHARE ../../domain/breaker

-- The one place of all scripts that reads and writes the record of a breaker. `domain/breaker.ts` says what it holds, and reads
-- it in TypeScript.

--- Nil: it is closed, and nothing has failed since the last success.
local function read_breaker(breaker)
  local stored = redis.call('GET', breaker)
  if not stored then return nil end
  local failures, open_until, failing_since, notified, probing =
    string.match(stored, '(%d+) (%d+) ?(%d*) ?(%d*) ?(%d*)')
  return {
    failures = tonumber(failures),
    open_until = tonumber(open_until),
    failing_since = tonumber(failing_since),
    is_notified = notified == '1',
    is_probing = probing == '1',
  }
end

local function write_breaker(breaker, state)
  local record = string.format('%d %d', state.failures, state.open_until)
  -- An older record does not say it.
  if state.failing_since then
    record = string.format('%s %d %s', record, state.failing_since, state.is_notified and '1' or '0')
    if state.is_probing then record = record .. ' 1' end
  end
  redis.call('SET', breaker, record, 'PX', BREAKER_KEPT_MS)
end

--- Gives until when the failure has opened it. Attempts that were running when it opened say nothing new: otherwise a receiver
--- that fails many at once would get the longest pause at once.
local function count_failure(state, now, was_probe)
  state.failing_since = state.failing_since or now
  if state.open_until > now and not was_probe then return nil end
  state.is_probing = false
  state.failures = state.failures + 1
  if state.failures < FAILURES_TO_OPEN then return nil end
  local share = (now - state.failing_since) / OPEN_SHARE
  state.open_until = now + math.floor(math.min(math.max(share, MIN_OPEN_MS), MAX_OPEN_MS))
  return state.open_until
end
