---@include ./redis-subscriptions.lua

--- Unless the record has changed meanwhile.
---@change
---@with account AccountId
---@key endpoints = endpoints(account)
---@key ids = endpointIds(account)
---@key version_key = endpointsVersion(account)
---@key uids = endpointUids(account)
---@key subscriptions = subscriptions(account)
---@param id EndpointId
---@param before text?         the record as it must be now
---@param after text
---@param uid_before text?
---@param uid text?
---@param most integer
---@param subscription text
---@return 'saved'|'changed'|'uid_taken'|'too_many'
function save_endpoint(
  endpoints,
  ids,
  version_key,
  uids,
  subscriptions,
  id,
  before,
  after,
  uid_before,
  uid,
  most,
  subscription
)
  if was_made() then return 'saved' end
  if redis.call('HGET', endpoints, id) ~= (before or false) then return 'changed' end
  if uid and (redis.call('HGET', uids, uid) or id) ~= id then return 'uid_taken' end
  if not before and redis.call('HLEN', endpoints) >= most then return 'too_many' end
  local version, is_current = count_up(ids, version_key, subscriptions)
  if uid_before and uid_before ~= uid then redis.call('HDEL', uids, uid_before) end
  if uid then redis.call('HSET', uids, uid, id) end
  redis.call('HSET', endpoints, id, after)
  redis.call('ZADD', ids, 0, id)
  if is_current then redis.call('HSET', subscriptions, id, subscription, MADE_AT, version) end
  record_act()
  return 'saved'
end

--- Gives whether it existed. cjson does not read its uid, since it refuses texts that JSON.stringify writes, such as half a
--- surrogate pair. Metadata may have a member of that name as well, but only the endpoint's own uid leads to its id.
---@change
---@with account AccountId
---@key endpoints = endpoints(account)
---@key ids = endpointIds(account)
---@key version_key = endpointsVersion(account)
---@key uids = endpointUids(account)
---@key subscriptions = subscriptions(account)
---@param id EndpointId
---@return boolean
function remove_endpoint(endpoints, ids, version_key, uids, subscriptions, id)
  if was_made() then return true end
  local record = redis.call('HGET', endpoints, id)
  if not record then return false end
  local version, is_current = count_up(ids, version_key, subscriptions)
  for uid in string.gmatch(record, '"uid":"([%w_.-]+)"') do
    if redis.call('HGET', uids, uid) == id then redis.call('HDEL', uids, uid) end
  end
  redis.call('HDEL', endpoints, id)
  redis.call('ZREM', ids, id)
  redis.call('HDEL', subscriptions, id)
  if is_current then redis.call('HSET', subscriptions, MADE_AT, version) end
  record_act()
  return true
end

--- Their ids stay: they lead to the remaining data of each.
---@with account AccountId
---@key endpoints = endpoints(account)
---@key ids = endpointIds(account)
---@key version_key = endpointsVersion(account)
---@key uids = endpointUids(account)
---@key subscriptions = subscriptions(account)
function remove_all_endpoints(endpoints, ids, version_key, uids, subscriptions)
  if redis.call('UNLINK', endpoints, uids, subscriptions) == 0 then return end
  count_up(ids, version_key, subscriptions)
end

--- Of ids and uids: for each the id; empty for one that the account does not have. No uid begins as an id does.
---@with account AccountId
---@key endpoints = endpoints(account)
---@key uids = endpointUids(account)
---@param refs text[]
---@return text[]
function find_endpoint_ids(endpoints, uids, refs)
  local ids = {}
  for i, ref in ipairs(refs) do
    if string.sub(ref, 1, 3) == 'wh_' then
      ids[i] = redis.call('HEXISTS', endpoints, ref) == 1 and ref or ''
    else
      ids[i] = redis.call('HGET', uids, ref) or ''
    end
  end
  return ids
end

--- Its record.
---@with account AccountId
---@key endpoints = endpoints(account)
---@param id EndpointId
---@return text?
function find_endpoint(endpoints, id)
  return redis.call('HGET', endpoints, id)
end
