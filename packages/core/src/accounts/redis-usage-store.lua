---@const WEBHOOK_BYTES, API_KEY_BYTES, ALL_CODE_COUNTED ../domain/usage

--- For scripts that store or remove data of an account. What scripts count that run as one is written at their end, or by
--- `write_usage(usage)`. Both keys have the account's hash tag.
---
--- `usage` is a hash: `kind:time` → bytes that Redis drops by then. `used` is the sum of all, so that one command reads it
--- together with other keys. Lapsed parts are subtracted when an account is checked (`look-at-usage.lua`). Nothing is subtracted
--- twice: data that is removed before its time is subtracted from the part of that time, down to 0.

local function keep_for(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, string.format('%d', ms)) end
end

local function write_usage(usage)
  local counted, sum = once['usage ' .. usage], 0
  if next(counted.fields) == nil then return end
  for field, change in pairs(counted.fields) do
    redis.call('HINCRBY', usage, field, string.format('%d', change))
    sum = sum + change
  end
  counted.fields = {}
  if sum ~= 0 then redis.call('INCRBY', counted.used, string.format('%d', sum)) end
  keep_for(usage, counted.kept_ms)
  keep_for(counted.used, counted.kept_ms)
end

local function count_usage(usage, used, field, bytes, kept_ms)
  local counted = once['usage ' .. usage]
  if not counted then
    counted = { used = used, fields = {}, kept_ms = 0 }
    once['usage ' .. usage] = counted
  end
  local change = bytes
  if bytes < 0 then
    local present = tonumber(redis.call('HGET', usage, field) or '0') + (counted.fields[field] or 0)
    change = -math.min(present, -bytes)
  end
  if change == 0 then return end
  counted.fields[field] = (counted.fields[field] or 0) + change
  counted.kept_ms = math.max(counted.kept_ms, kept_ms)
  at_end('write usage ' .. usage, function()
    write_usage(usage)
  end)
end

--- Not idempotent: a repetition counts twice.
---@with account AccountId
---@key usage = usage(account)
---@key used = usedBytes(account)
---@param now integer
---@param changes {kind UsageKind, bytes integer, lapses_at digits}[]
function add_usage(usage, used, now, changes)
  for _, change in ipairs(changes) do
    local kept_ms = tonumber(change.lapses_at) - now
    if kept_ms > 0 then count_usage(usage, used, change.kind .. ':' .. change.lapses_at, change.bytes, kept_ms) end
  end
end

--- The exact usage at this moment: subtracts lapsed parts, and counts what does not lapse.
---@with account AccountId
---@key usage = usage(account)
---@key used = usedBytes(account)
---@key quota = quota(account)
---@key events = events(account)
---@key endpoints = endpoints(account)
---@key api_keys = apiKeyIds(account)
---@key code = codeBytes(account)
---@param now integer
---@reply used_bytes integer
---@reply own_quota text?            as the operator has set it
---@reply event_bytes integer
---@reply delivery_bytes integer
---@reply answer_bytes integer
---@reply replay_bytes integer
---@reply session_bytes integer
---@reply event_count integer
---@reply webhook_count integer
---@reply api_key_count integer
---@reply is_code_counted boolean
function look_at_usage(usage, used, quota, events, endpoints, api_keys, code, now)
  local total = 0
  local sums = { events = 0, deliveries = 0, answers = 0, replays = 0, sessions = 0 }
  local fields = redis.call('HGETALL', usage)
  for i = 1, #fields, 2 do
    local kind, lapses_at = string.match(fields[i], '^(%a+):(%d+)$')
    if not kind or not sums[kind] or tonumber(lapses_at) <= now then
      redis.call('HDEL', usage, fields[i])
    else
      sums[kind] = sums[kind] + tonumber(fields[i + 1])
      total = total + tonumber(fields[i + 1])
    end
  end
  local webhook_count, api_key_count = redis.call('HLEN', endpoints), redis.call('ZCARD', api_keys)
  total = total + webhook_count * WEBHOOK_BYTES + api_key_count * API_KEY_BYTES
  local counted, is_code_counted = redis.call('HGETALL', code), webhook_count == 0
  for i = 1, #counted, 2 do
    if counted[i] == ALL_CODE_COUNTED then
      is_code_counted = true
    elseif redis.call('HEXISTS', endpoints, counted[i]) == 1 then
      total = total + tonumber(counted[i + 1])
    else
      redis.call('HDEL', code, counted[i])
    end
  end
  local left = redis.call('PTTL', usage)
  if left > 0 then
    redis.call('SET', used, string.format('%d', total), 'PX', left)
  else
    redis.call('DEL', used)
  end
  return reply {
    used_bytes = total,
    own_quota = redis.call('GET', quota),
    event_bytes = sums.events,
    delivery_bytes = sums.deliveries,
    answer_bytes = sums.answers,
    replay_bytes = sums.replays,
    session_bytes = sums.sessions,
    event_count = redis.call('ZCARD', events),
    webhook_count = webhook_count,
    api_key_count = api_key_count,
    is_code_counted = is_code_counted,
  }
end

--- Of all versions of the code of an endpoint.
---@with endpoint EndpointId
---@key versions = transformations(endpoint)
---@return integer
function code_bytes(versions)
  local bytes = 0
  for _, version in ipairs(redis.call('HVALS', versions)) do
    bytes = bytes + #version
  end
  return bytes
end
