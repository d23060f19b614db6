---@const jobFields ./bullmq-layout

--- A job that has ended meanwhile must not come back in part.
---@key job
---@param data text
function replace_data(job, data)
  if redis.call('EXISTS', job) == 1 then redis.call('HSET', job, jobFields.data, data) end
end
