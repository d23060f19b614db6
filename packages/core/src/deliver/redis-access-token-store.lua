---@const FIRST_PAUSE_MS, MAX_PAUSE_MS, REFETCH_MS ../domain/access-token
---@record kept_token {version TokenVersion, sealed text, refresh_at integer, taken_until integer}

--- How long the state is kept without a token: longer than any pause.
local KEPT_MS = 600000
--- The start of the failures is kept from one try to the next, even if tries are rare.
local FAILING_KEPT_MS = 7 * 86400000

--- Milliseconds since the Unix epoch; 0: there is none.
local function ms_of(stored)
  return tonumber(stored or 0)
end

local function holds_lock(access_token, auth_changed_at, owner)
  local known = redis.call('HMGET', access_token, 'state', 'lock')
  return known[1] == auth_changed_at and known[2] == owner
end

--- When the endpoint's `auth` changes, its earlier state is discarded. Only the time of the last fetch after a receiver's
--- refusal is kept. An attempt that has read the endpoint before the change waits until it has read it again.
---@with endpoint EndpointId
---@key access_token = accessToken(endpoint)
---@param auth_changed_at integer
---@param now integer
---@param owner text              of the lock, if the caller gets it
---@param lock_ms integer
---@reply kind 'token'|'fetch'|'wait'|'paused'
---@reply paused_until integer?   the breaker is open
---@reply is_usable boolean       attempts may go on with the token if there will be no other
---@reply token kept_token?       the present one, if it is valid
function ask_for_token(access_token, auth_changed_at, now, owner, lock_ms)
  local known = ms_of(redis.call('HGET', access_token, 'state'))
  if known > auth_changed_at then return reply { kind = 'paused', paused_until = now + FIRST_PAUSE_MS } end
  if known < auth_changed_at then
    local refetched_at = redis.call('HGET', access_token, 'refetched_at') or '0'
    redis.call('DEL', access_token)
    redis.call('HSET', access_token, 'state', auth_changed_at, 'refetched_at', refetched_at)
  end
  local sealed, version, refused, refetched_for, lock, refresh_at, taken_until, refetched_at, open_until, lock_until =
    unpack(
      redis.call(
        'HMGET',
        access_token,
        'sealed',
        'version',
        'refused',
        'refetched_for',
        'lock',
        'refresh_at',
        'expires_at',
        'refetched_at',
        'open_until',
        'lock_until'
      )
    )
  refresh_at, taken_until = ms_of(refresh_at), ms_of(taken_until)
  refetched_at, open_until, lock_until = ms_of(refetched_at), ms_of(open_until), ms_of(lock_until)

  local is_valid = sealed and taken_until > now
  local is_refused = is_valid and refused == version
  local is_refetch = is_refused and refetched_for ~= version and now - refetched_at >= REFETCH_MS
  local is_wanted = not is_valid or is_refetch or now >= refresh_at
  local is_locked = lock and lock_until > now
  local token = is_valid
    and kept_token { version = version, sealed = sealed, refresh_at = refresh_at, taken_until = taken_until }
  if is_locked and (not is_valid or is_refused) then return reply { kind = 'wait' } end
  if is_locked or not is_wanted then return reply { kind = 'token', token = token } end
  if open_until > now then
    return reply { kind = is_valid and 'token' or 'paused', paused_until = open_until, token = token }
  end
  redis.call('HSET', access_token, 'lock', owner, 'lock_until', string.format('%d', now + lock_ms))
  if is_refetch then redis.call('HSET', access_token, 'refetched_for', version, 'refetched_at', now) end
  redis.call('PEXPIRE', access_token, math.max(redis.call('PTTL', access_token), KEPT_MS))
  return reply { kind = 'fetch', is_usable = is_valid and not is_refused, token = token }
end

--- Gives whether the caller still has the lock, so that all use its token.
---@with endpoint EndpointId
---@key access_token = accessToken(endpoint)
---@param auth_changed_at digits
---@param owner text              of the lock
---@param sealed text
---@param version TokenVersion
---@param refresh_at digits
---@param taken_until digits      attempts take it until then
---@param expires_in integer      milliseconds
---@return boolean
function keep_token(access_token, auth_changed_at, owner, sealed, version, refresh_at, taken_until, expires_in)
  if not holds_lock(access_token, auth_changed_at, owner) then return false end
  redis.call(
    'HSET',
    access_token,
    'sealed',
    sealed,
    'version',
    version,
    'refresh_at',
    refresh_at,
    'expires_at',
    taken_until
  )
  redis.call('HDEL', access_token, 'lock', 'lock_until', 'failures', 'open_until', 'failing_since')
  redis.call('PEXPIRE', access_token, math.max(expires_in, KEPT_MS))
  return true
end

--- The next fetch may begin after a pause. Gives from when on; 0: the caller has lost the lock.
---@with endpoint EndpointId
---@key access_token = accessToken(endpoint)
---@param auth_changed_at digits
---@param owner text              of the lock
---@param now integer
---@param least_pause_ms integer
---@return integer
function fail_to_fetch(access_token, auth_changed_at, owner, now, least_pause_ms)
  if not holds_lock(access_token, auth_changed_at, owner) then return 0 end
  local failures = redis.call('HINCRBY', access_token, 'failures', 1)
  local pause_ms = math.min(FIRST_PAUSE_MS * 2 ^ math.min(failures - 1, 20), MAX_PAUSE_MS)
  local open_until = now + math.max(pause_ms, least_pause_ms)
  redis.call('HSET', access_token, 'open_until', string.format('%d', open_until))
  redis.call('HSETNX', access_token, 'failing_since', now)
  redis.call('HDEL', access_token, 'lock', 'lock_until', 'refetched_for')
  redis.call('PEXPIRE', access_token, math.max(redis.call('PTTL', access_token), FAILING_KEPT_MS))
  return open_until
end

---@with endpoint EndpointId
---@key access_token = accessToken(endpoint)
---@param owner text              of the lock
function unlock_token(access_token, owner)
  if redis.call('HGET', access_token, 'lock') == owner then redis.call('HDEL', access_token, 'lock', 'lock_until') end
end

---@with endpoint EndpointId
---@key access_token = accessToken(endpoint)
---@param version TokenVersion
function drop_token(access_token, version)
  if redis.call('HGET', access_token, 'version') == version then
    redis.call('HDEL', access_token, 'sealed', 'version')
  end
end

--- Notes that the receiver refused it.
---@with endpoint EndpointId
---@key access_token = accessToken(endpoint)
---@param auth_changed_at digits
---@param version TokenVersion
function refuse_token(access_token, auth_changed_at, version)
  local known = redis.call('HMGET', access_token, 'state', 'version')
  if known[1] == auth_changed_at and known[2] == version then redis.call('HSET', access_token, 'refused', version) end
end
