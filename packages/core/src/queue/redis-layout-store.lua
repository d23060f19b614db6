---@include ../platform/redis-time.lua

local function layout_in_force(layouts, now, in_force_after)
  local last = redis.call('ZREVRANGEBYSCORE', layouts, now - in_force_after, '-inf', 'LIMIT', 0, 1)[1]
  return last or redis.call('ZRANGE', layouts, 0, 0)[1]
end

--- A process says which layout it wants when it starts, and the last one to start decides. A layout that was wanted before,
--- and is not in force yet, becomes one of the past. An unused Redis changes at once.
---@key layouts = queueLayouts
---@key left = leftLayouts
---@key served = servedShards
---@keys used                     they exist once the queues were used
---@param wanted text?
---@param in_force_after integer  when a wanted layout is in force, in milliseconds
---@param kept_ms integer
---@param served_ms integer       how long a shard counts as served
---@param shards text[]           prefixes of those that the caller takes jobs from
---@reply now integer
---@reply in_force text
---@reply layouts text[]          each with its score behind it
---@reply left text[]             the same
---@reply served text[]
function look_at_layouts(layouts, left, served, used, wanted, in_force_after, kept_ms, served_ms, shards)
  local now = time_now()
  if redis.call('EXISTS', layouts) == 0 then
    local is_used = redis.call('EXISTS', unpack(used)) > 0
    redis.call('ZADD', layouts, 0, is_used and '1' or wanted or '1')
  end
  if wanted and redis.call('ZREVRANGE', layouts, 0, 0)[1] ~= wanted then
    for _, pending in ipairs(redis.call('ZRANGEBYSCORE', layouts, '(' .. now - in_force_after, '+inf')) do
      local score = redis.call('ZSCORE', layouts, layout_in_force(layouts, now, in_force_after))
      redis.call('ZADD', layouts, score - 1, pending)
    end
    if layout_in_force(layouts, now, in_force_after) ~= wanted then
      redis.call('ZADD', layouts, now, wanted)
      redis.call('ZREM', left, wanted)
    end
  end

  -- Where Redis takes no writes no process learns who serves what; what is in force it has to.
  for _, shard in ipairs(shards) do
    redis.pcall('ZADD', served, now, shard)
  end
  redis.pcall('ZREMRANGEBYSCORE', served, '-inf', now - served_ms)
  local in_force = layout_in_force(layouts, now, in_force_after)
  for _, layout in ipairs(redis.call('ZRANGEBYSCORE', left, '-inf', now - kept_ms)) do
    redis.pcall('ZREM', left, layout)
    if layout ~= in_force then redis.pcall('ZREM', layouts, layout) end
  end
  return reply {
    now = now,
    in_force = in_force,
    layouts = redis.call('ZRANGE', layouts, 0, -1, 'WITHSCORES'),
    left = redis.call('ZRANGE', left, 0, -1, 'WITHSCORES'),
    served = redis.call('ZRANGEBYSCORE', served, '(' .. now - served_ms, '+inf'),
  }
end

--- Only layouts that no process has used for long enough.
---@key layouts = queueLayouts
---@key left = leftLayouts
---@param unused_ms integer
---@param in_force text           the caller's
---@param empty text[]            those without jobs
function leave_layouts(layouts, left, unused_ms, in_force, empty)
  local now = time_now()
  local last = redis.call('ZREVRANGE', layouts, 0, 0, 'WITHSCORES')
  if last[1] ~= in_force or tonumber(last[2]) > now - unused_ms then return end
  for _, layout in ipairs(empty) do
    if redis.call('ZSCORE', layouts, layout) then redis.call('ZADD', left, 'NX', now, layout) end
  end
end

--- Each with its score behind it.
---@key layouts = queueLayouts
---@return text[]
function list_layouts(layouts)
  return redis.call('ZRANGE', layouts, 0, -1, 'WITHSCORES')
end
