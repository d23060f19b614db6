---@include ./bullmq-shard.lua
---@include ./bullmq-put-back.lua
---@const DELAYED_SCORE, jobFields ./bullmq-layout

---@key base                    the prefix of the jobs' keys
---@param due_until integer
---@param most digits
---@reply count integer           how many were put back
---@reply next_due_at integer?
function put_back_due(base, due_until, most)
  local shard = shard_of(base)
  local until_score = (due_until + 1) * DELAYED_SCORE - 1
  local jobs = redis.call('ZRANGEBYSCORE', shard.delayed, 0, until_score, 'LIMIT', 0, most)
  if #jobs > 0 then
    redis.call('ZREM', shard.delayed, unpack(jobs))
    for _, job in ipairs(jobs) do
      local account = account_in(redis.call('HGET', shard.base .. job, jobFields.data)) or ''
      put_back(shard, job, account, string.match(job, '[^./]*$'))
    end
  end
  local next_score = redis.call('ZRANGE', shard.delayed, 0, 0, 'WITHSCORES')[2]
  return reply {
    count = #jobs,
    next_due_at = next_score and math.floor(tonumber(next_score) / DELAYED_SCORE),
  }
end
