--- The newest of an account are kept, and those that are still to be sent.
local MOST_KEPT = 1000

---@key accounts = contactAccounts
---@param now digits
---@param most digits
---@param claimed_until digits
---@return AccountId[]        those that are due
function claim_accounts(accounts, now, most, claimed_until)
  local due = redis.call('ZRANGEBYSCORE', accounts, '-inf', now, 'LIMIT', 0, most)
  for _, account in ipairs(due) do
    redis.call('ZADD', accounts, claimed_until, account)
  end
  return due
end

--- Those who have asked for a look meanwhile get it.
---@key accounts = contactAccounts
---@param account AccountId
---@param claimed_until integer
---@param next_at digits?     absent: never
function end_look(accounts, account, claimed_until, next_at)
  if tonumber(redis.call('ZSCORE', accounts, account) or 0) ~= claimed_until then return end
  if next_at then
    redis.call('ZADD', accounts, next_at, account)
  else
    redis.call('ZREM', accounts, account)
  end
end

local function drop_oldest(notifications, ids, due)
  for _, id in ipairs(redis.call('ZRANGE', ids, 0, -MOST_KEPT - 1)) do
    if not redis.call('ZSCORE', due, id) then
      redis.call('HDEL', notifications, id)
      redis.call('ZREM', ids, id)
    end
  end
end

--- Gives whether it was stored. Nothing of it twice: what was told has a version, and a process that has read an older one
--- starts again. Nothing without contacts either: their account may be erased by now.
---@with account AccountId
---@key notified = notified(account)
---@key notifications = notifications(account)
---@key ids = notificationIds(account)
---@key due = notificationsDue(account)
---@key contacts = contacts(account)
---@param version text
---@param cleared text[]
---@param fields {name text, value text}[]
---@param added {id NotificationId, record text, due_at digits}[]
---@return boolean
function notify(notified, notifications, ids, due, contacts, version, cleared, fields, added)
  if redis.call('EXISTS', contacts) == 0 then return false end
  if (redis.call('HGET', notified, 'version') or '0') ~= version then return false end
  for _, name in ipairs(cleared) do
    redis.call('HDEL', notified, name)
  end
  for _, field in ipairs(fields) do
    redis.call('HSET', notified, field.name, field.value)
  end
  redis.call('HINCRBY', notified, 'version', 1)
  for _, each in ipairs(added) do
    redis.call('HSET', notifications, each.id, each.record)
    redis.call('ZADD', ids, 0, each.id)
    redis.call('ZADD', due, each.due_at, each.id)
  end
  drop_oldest(notifications, ids, due)
  return true
end

---@with account AccountId
---@key due = notificationsDue(account)
---@key notifications = notifications(account)
---@param now digits
---@param most digits
---@param claimed_until digits
---@return text[]             their records
function claim_due_notifications(due, notifications, now, most, claimed_until)
  local records = {}
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)) do
    local record = redis.call('HGET', notifications, id)
    if record then
      redis.call('ZADD', due, claimed_until, id)
      table.insert(records, record)
    else
      redis.call('ZREM', due, id)
    end
  end
  return records
end

--- Unless another process has claimed it since.
---@with account AccountId
---@key due = notificationsDue(account)
---@key notifications = notifications(account)
---@param claimed_until integer
---@param id NotificationId
---@param record text
---@param next_at digits?     absent: never
function update_notification(due, notifications, claimed_until, id, record, next_at)
  if tonumber(redis.call('ZSCORE', due, id) or 0) ~= claimed_until then return end
  redis.call('HSET', notifications, id, record)
  if next_at then
    redis.call('ZADD', due, next_at, id)
  else
    redis.call('ZREM', due, id)
  end
end
