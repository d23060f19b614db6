--- Of accounts, in one shard.
---@key weights
---@param all {account text, weight text}[]
function replace_weights(weights, all)
  redis.call('DEL', weights)
  for _, each in ipairs(all) do
    redis.call('HSET', weights, each.account, each.weight)
  end
end
