--- The field with the version of the account that the subscriptions belong to. When the form of subscriptions changes, use
--- another name: each version of the service then rebuilds the subscriptions that another version made.
local MADE_AT = 'version:2'

--- The start of each change of an account's endpoints. Gives the new version, and whether the subscriptions matched the records
--- until now. A change of both together may then store the version for the subscriptions. Otherwise a process without
--- subscriptions has changed records, and the next reader rebuilds them. The subscriptions of an account's first endpoint are
--- always current, whatever an erasure by such a process has left.
---
--- A version must never come back. If it restarted from 0 after an account's erasure, a cache of the former account would be
--- used for the next one. So it starts at the present time, and no account changes faster than that runs.
local function count_up(ids, version, subscriptions)
  local before = redis.call('GET', version)
  local is_current = before and redis.call('HGET', subscriptions, MADE_AT) == before
  if not before and redis.call('ZCARD', ids) == 0 then
    redis.call('UNLINK', subscriptions)
    is_current = true
  end
  redis.call('SET', version, redis.call('TIME')[1], 'NX')
  redis.call('INCR', version)
  return redis.call('GET', version), is_current
end

---@with account AccountId
---@key ids = endpointIds(account)
---@key version = endpointsVersion(account)
---@key subscriptions = subscriptions(account)
---@param first text            the first id of the part
---@param most digits
---@reply version text?
---@reply is_current boolean    whether the subscriptions match the records
---@reply ids text[]
---@reply texts text[]          the subscription of each; empty: there is none
function read_subscriptions(ids, version, subscriptions, first, most)
  local found = redis.call('ZREVRANGEBYLEX', ids, first, '-', 'LIMIT', 0, most)
  local current = redis.call('GET', version)
  local is_current = current and redis.call('HGET', subscriptions, MADE_AT) == current
  local texts = {}
  if is_current and #found > 0 then texts = redis.call('HMGET', subscriptions, unpack(found)) end
  for i = 1, #found do
    texts[i] = texts[i] or ''
  end
  return reply { version = current, is_current = is_current, ids = found, texts = texts }
end

--- Gives whether it has written: not once a record has changed, or another writer has begun.
---@with account AccountId
---@key version = endpointsVersion(account)
---@key subscriptions = subscriptions(account)
---@param made_at text          the version that they were made at
---@param writer text
---@param is_first boolean      part
---@param is_last boolean       part
---@param fields text[]         each id with its subscription behind it
---@return boolean
function write_subscriptions(version, subscriptions, made_at, writer, is_first, is_last, fields)
  if redis.call('GET', version) ~= made_at then return false end
  if is_first then
    redis.call('UNLINK', subscriptions)
    redis.call('HSET', subscriptions, 'writer', writer)
  elseif redis.call('HGET', subscriptions, 'writer') ~= writer then
    return false
  end
  redis.call('HSET', subscriptions, unpack(fields))
  if is_last then
    redis.call('HDEL', subscriptions, 'writer')
    redis.call('HSET', subscriptions, MADE_AT, made_at)
  end
  return true
end
