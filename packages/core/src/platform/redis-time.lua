--- Redis' own clock: the same for all processes. Milliseconds since the Unix epoch.
local function time_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
