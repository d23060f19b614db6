--- Not idempotent: a repetition counts twice. Of accounts with a load, those with most stay.
---@keys hours                the present hour's sorted set of each measure, then those of the hour before
---@param kept_ms digits
---@param most integer        accounts of the present hour
---@param most_of_past integer
---@param accounts AccountId[]
---@param loads digits[]      of each account, one for each measure
function add_loads(hours, kept_ms, most, most_of_past, accounts, loads)
  local measures = #hours / 2
  for i, account in ipairs(accounts) do
    for j = 1, measures do
      local load = loads[(i - 1) * measures + j]
      if load ~= '0' then redis.call('ZINCRBY', hours[j], load, account) end
    end
  end
  for j = 1, measures do
    redis.call('ZREMRANGEBYRANK', hours[j], 0, -most - 1)
    redis.call('ZREMRANGEBYRANK', hours[measures + j], 0, -most_of_past - 1)
    redis.call('PEXPIRE', hours[j], kept_ms)
  end
end

--- Of several samples with the same number the first one counts.
---@key samples = operationsSamples
---@param number text
---@param sample text
---@param oldest integer      the oldest number to keep
---@param kept_ms digits
function add_sample(samples, number, sample, oldest, kept_ms)
  if redis.call('HSETNX', samples, number, sample) == 0 then return end
  for _, each in ipairs(redis.call('HKEYS', samples)) do
    if tonumber(each) < oldest then redis.call('HDEL', samples, each) end
  end
  redis.call('PEXPIRE', samples, kept_ms)
end
