---@include ./redis-usage-store.lua

--- Gives whether there was room for one more.
---@with account AccountId
---@key sessions = portalSessionIds(account)
---@key usage = usage(account)
---@key used = usedBytes(account)
---@param id text
---@param ends_at digits
---@param now digits
---@param most integer
---@param field text         of the usage
---@param bytes integer
---@param kept_ms integer    how long they are counted
---@return boolean
function list_portal_session(sessions, usage, used, id, ends_at, now, most, field, bytes, kept_ms)
  redis.call('ZREMRANGEBYSCORE', sessions, '-inf', now)
  local is_new = not redis.call('ZSCORE', sessions, id)
  if is_new and redis.call('ZCARD', sessions) >= most then return false end
  if is_new then count_usage(usage, used, field, bytes, kept_ms) end
  redis.call('ZADD', sessions, ends_at, id)
  redis.call('PEXPIREAT', sessions, redis.call('ZREVRANGE', sessions, 0, 0, 'WITHSCORES')[2])
  return true
end

---@change
---@with id text
---@key portal_session = portalSession(id)
---@param session text
---@param page text
---@param ends_at digits
function save_portal_session(portal_session, session, page, ends_at)
  if was_made() then return end
  local is_new = redis.call('HGET', portal_session, 'session') ~= session
  redis.call('HSET', portal_session, 'session', session, 'page', page)
  redis.call('PEXPIREAT', portal_session, ends_at)
  if is_new then record_act() end
end

--- Gives whether it is the first exchange. A session that is revoked meanwhile must leave nothing behind.
---@change
---@with id text
---@key portal_session = portalSession(id)
---@param exchange text
---@return boolean
function exchange_portal_session(portal_session, exchange)
  if was_made() then return true end
  if redis.call('EXISTS', portal_session) == 0 then return false end
  if redis.call('HSETNX', portal_session, 'exchange', exchange) == 0 then return false end
  record_act()
  return true
end

--- Gives whether it existed.
---@change
---@with id text
---@key portal_session = portalSession(id)
---@return boolean
function remove_portal_session(portal_session)
  if was_made() then return true end
  if redis.call('UNLINK', portal_session) == 0 then return false end
  record_act()
  return true
end

--- Leaves no counter of an account that may be gone by now.
---@with account AccountId
---@key sessions = portalSessionIds(account)
---@key usage = usage(account)
---@key used = usedBytes(account)
---@param id text
---@param field text         of the usage
---@param bytes integer
function unlist_portal_session(sessions, usage, used, id, field, bytes)
  if redis.call('ZREM', sessions, id) == 0 then return end
  count_usage(usage, used, field, -bytes, 0)
  write_usage(usage)
  if redis.call('HGET', usage, field) == '0' then redis.call('HDEL', usage, field) end
  if redis.call('EXISTS', usage) == 0 then redis.call('DEL', used) end
end
