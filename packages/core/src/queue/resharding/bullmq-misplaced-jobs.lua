---@include ../bullmq-shard.lua
---@include ../bullmq-put-back.lua
---@const jobFields ../bullmq-layout

---@key base                    the prefix of the jobs' keys
---@param ids text[]
function put_back_delayed(base, ids)
  local shard = shard_of(base)
  for _, job in ipairs(ids) do
    if redis.call('ZREM', shard.delayed, job) == 1 then
      local account = account_in(redis.call('HGET', shard.base .. job, jobFields.data)) or ''
      put_back(shard, job, account, string.match(job, '[^./]*$'))
    end
  end
end

--- Of another shard. An existing job here is younger, so it stays.
---@key base                    the prefix of the jobs' keys
---@param id text
---@param failed_at text
---@param fields {name text, value text}[]
function take_failed(base, id, failed_at, fields)
  local shard = shard_of(base)
  local job = shard.base .. id
  if redis.call('EXISTS', job) == 1 then return end
  local flat = {}
  for _, field in ipairs(fields) do
    flat[#flat + 1] = field.name
    flat[#flat + 1] = field.value
  end
  redis.call('HSET', job, unpack(flat))
  redis.call('ZADD', shard.failed, failed_at, id)
end

---@key base                    the prefix of the jobs' keys
---@param id text
function drop_failed(base, id)
  local shard = shard_of(base)
  if redis.call('ZREM', shard.failed, id) == 1 then redis.call('DEL', shard.base .. id) end
end
