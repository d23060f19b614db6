--- Takes points of several windows at once.
---@keys windows
---@param points digits[]    to take, of each window
---@param lengths digits[]   of each window, in milliseconds, from the first request on
---@return integer[]      of each window, how many are taken by now, and in how many milliseconds it ends
function take_allowance(windows, points, lengths)
  local usages = {}
  for i, window in ipairs(windows) do
    local taken = redis.call('INCRBY', window, points[i])
    local resets_in = redis.call('PTTL', window)
    if resets_in < 0 then
      redis.call('PEXPIRE', window, lengths[i])
      resets_in = tonumber(lengths[i])
    end
    usages[2 * i - 1], usages[2 * i] = taken, resets_in
  end
  return usages
end
