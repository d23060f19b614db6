--- Whether the API key and the endpoints of an account are those that a process has cached, and the account has room.
---@guard
---@with account AccountId
---@with id text
---@key api_key = apiKey(id)
---@key version = endpointsVersion(account)
---@key used = usedBytes(account)
---@key quota = quota(account)
---@param assumed_key text        the record of the API key
---@param assumed_version text    of the endpoints
---@param default_quota integer   of an account that has none of its own; 0: unlimited
---@reply holds boolean
---@reply used_bytes text?
---@reply own_quota text?
function compare_assumed(api_key, version, used, quota, assumed_key, assumed_version, default_quota)
  local now = redis.call('MGET', api_key, version, used, quota)
  local most = tonumber(now[4] or default_quota)
  local is_over = most > 0 and tonumber(now[3] or 0) >= most
  local is_same = now[1] == assumed_key and (now[2] or '0') == assumed_version
  if is_over or not is_same then return stop { holds = false, used_bytes = now[3], own_quota = now[4] } end
  return reply { holds = true, used_bytes = now[3], own_quota = now[4] }
end
