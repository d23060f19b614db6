--- A guard for tests: it stops if the key is there.
---@guard
---@key thing
function set_once(thing)
  if redis.call('SETNX', thing, '1') == 0 then return stop() end
  return reply()
end
