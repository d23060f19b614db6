--- For scripts that change which of an endpoint's deliveries are held: once per change, with the present number. All of them
--- count for one reason, that of the last one held; without a reason it stays.
---
--- `counted` has the share of each endpoint in `counts`, so a sum can't drift: the endpoint's next change corrects an error, or its
--- next recount.
local function count_held(shard, address, left, reason)
  local before, many = string.match(redis.call('HGET', shard.counted, address) or '', '^(%S+) (%d+)$')
  reason = reason or before
  if reason == before and tonumber(many) == left then return end
  if before and redis.call('HINCRBY', shard.counts, before, -tonumber(many)) == 0 then
    redis.call('HDEL', shard.counts, before)
  end
  if left == 0 or not reason then
    redis.call('HDEL', shard.counted, address)
  else
    redis.call('HSET', shard.counted, address, string.format('%s %d', reason, left))
    redis.call('HINCRBY', shard.counts, reason, left)
  end
end
