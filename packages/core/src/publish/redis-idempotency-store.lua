---@include ../platform/redis-time.lua
---@const LATE ../platform/redis-deadline
---@record claimed {seed text, claimed_at integer}

--- A request that has claimed its key is its holder, until another one takes the claim over.

local function keep_at_least(request, ms)
  if redis.call('PTTL', request) < tonumber(ms) then redis.call('PEXPIRE', request, ms) end
end

--- The holder keeps its claim for a lease, by the clock of Redis, which all processes share.
---@with account AccountId
---@with digest text
---@key request = idempotency(account, digest)
---@param fingerprint text     of the request
---@param seed text
---@param claimed_at digits    decides nothing
---@param lease_ms integer
---@param kept_ms digits
---@reply claim claimed?       this call has it, with the seed and the time of the first one
---@reply answer text?         of the same request
---@reply is_other boolean     the key was used for another request
function claim_request(request, fingerprint, seed, claimed_at, lease_ms, kept_ms)
  local now = time_now()
  local leased_until = string.format('%d', now + lease_ms)
  local known = redis.call('HMGET', request, 'fingerprint', 'answer', 'leased_until', 'seed', 'claimed_at')
  if not known[1] then
    redis.call(
      'HSET',
      request,
      'fingerprint',
      fingerprint,
      'claimed_at',
      claimed_at,
      'leased_until',
      leased_until,
      'seed',
      seed,
      'holder',
      seed
    )
    redis.call('PEXPIRE', request, kept_ms)
    return reply { claim = claimed { seed = seed, claimed_at = tonumber(claimed_at) } }
  end
  if known[1] ~= fingerprint then return reply { is_other = true } end
  if known[2] then return reply { answer = known[2] } end
  if tonumber(known[3]) > now then return reply {} end
  redis.call('HSET', request, 'leased_until', leased_until, 'holder', seed)
  return reply { claim = claimed { seed = known[4], claimed_at = tonumber(known[5]) } }
end

--- Fails when another request has taken the claim over.
---@with account AccountId
---@with digest text
---@key request = idempotency(account, digest)
---@param seed text
function require_holder(request, seed)
  if redis.call('HGET', request, 'holder') ~= seed then
    return redis.error_reply(LATE .. ' Another request has taken the Idempotency-Key over.')
  end
end

--- A request that has lost the claim changes nothing: another one runs, or was answered.
---@with account AccountId
---@with digest text
---@key request = idempotency(account, digest)
---@param seed text
---@param kept_ms digits
function release_request(request, seed, kept_ms)
  if redis.call('HGET', request, 'holder') ~= seed then return end
  redis.call('HSET', request, 'leased_until', '0')
  keep_at_least(request, kept_ms)
end

--- The same holds for this one.
---@with account AccountId
---@with digest text
---@key request = idempotency(account, digest)
---@param seed text
function forget_request(request, seed)
  if redis.call('HGET', request, 'holder') == seed then redis.call('UNLINK', request) end
end

--- The first answer stays. It may be kept for longer already.
---@with account AccountId
---@with digest text
---@key request = idempotency(account, digest)
---@param answer text
---@param kept_ms digits
function answer_request(request, answer, kept_ms)
  redis.call('HSETNX', request, 'answer', answer)
  keep_at_least(request, kept_ms)
end

--- By the clock of Redis, and only if it is known.
---@with account AccountId
---@with digest text
---@key request = idempotency(account, digest)
---@param at integer
function keep_request_until(request, at)
  local kept = at - time_now()
  local present = redis.call('PTTL', request)
  if present ~= -2 and present < kept then redis.call('PEXPIRE', request, string.format('%d', kept)) end
end
