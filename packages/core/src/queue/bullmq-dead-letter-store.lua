--- Says when a job is put back, and gives it; nothing if the job is gone. The first time stays: so after a crash, the next
--- process puts back the same job with the same time, which is the same event. Earlier versions named the field.
---@key job
---@param at digits
---@return integer?
function begin_retry(job, at)
  if redis.call('EXISTS', job) == 0 then return nil end
  redis.call('HSETNX', job, 'redrivenAt', at)
  return tonumber(redis.call('HGET', job, 'redrivenAt'))
end

--- Decides between two actions on the same job: the claimed action stays with the job as long as it is among the failed, or the
--- invalid. It includes the time of the failure, so that it is void when the job fails again.
---@key failed
---@key job
---@param id text
---@param act 'redrive'|'drop'
---@param other 'redrive'|'drop'
---@return 'claimed'|'taken'|'gone'
function claim_dead_letter(failed, job, id, act, other)
  local failed_at = redis.call('ZSCORE', failed, id)
  if not failed_at or redis.call('EXISTS', job) == 0 then return 'gone' end
  if redis.call('HGET', job, 'claim') == other .. ' ' .. failed_at then return 'taken' end
  redis.call('HSET', job, 'claim', act .. ' ' .. failed_at)
  return 'claimed'
end
