--- Claims an event's id for the content with this digest.
---@with account AccountId
---@with id EventId
---@key claim = eventClaim(account, id)
---@key event = event(account, id)
---@param digest text
---@param accepted_at digits
---@param kept_ms digits
---@reply state 'open'|'queued'|'taken'|'stored'
---@reply accepted_at integer    of the first claim, unless its state is `taken` or `stored`
function claim_event(claim, event, digest, accepted_at, kept_ms)
  local known = redis.call('HMGET', claim, 'digest', 'accepted_at', 'queued')
  if known[1] then
    if known[1] ~= digest then return reply { state = 'taken' } end
    return reply { state = known[3] and 'queued' or 'open', accepted_at = tonumber(known[2]) }
  end
  if redis.call('EXISTS', event) == 1 then return reply { state = 'stored' } end
  redis.call('HSET', claim, 'digest', digest, 'accepted_at', accepted_at)
  redis.call('PEXPIRE', claim, kept_ms)
  return reply { state = 'open', accepted_at = tonumber(accepted_at) }
end

--- Gives whether this is the first call to mark it. Never creates a claim: that one would have no expiry.
---@with account AccountId
---@with id EventId
---@key claim = eventClaim(account, id)
---@return boolean
function mark_event_queued(claim)
  if redis.call('EXISTS', claim) == 0 then return false end
  return redis.call('HSETNX', claim, 'queued', '1') == 1
end

--- Removes this very claim, unless its event is queued.
---@with account AccountId
---@with id EventId
---@key claim = eventClaim(account, id)
---@param digest text
---@param accepted_at digits
function take_back_event_claim(claim, digest, accepted_at)
  local known = redis.call('HMGET', claim, 'digest', 'accepted_at', 'queued')
  if known[1] == digest and known[2] == accepted_at and not known[3] then redis.call('DEL', claim) end
end
