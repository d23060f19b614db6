--- A command or two each, for tests of how scripts run.

---@key thing
---@param text text
function set_text(thing, text)
  redis.call('SET', thing, text)
end

--- Gives its length.
---@key thing
---@param text text
---@return integer
function append_text(thing, text)
  return redis.call('APPEND', thing, text)
end

--- Gives how many there are.
---@key list
---@param texts text[]
---@return integer
function push_texts(list, texts)
  return redis.call('RPUSH', list, unpack(texts))
end

---@key set
---@param text text
function add_text(set, text)
  redis.call('SADD', set, text)
end

---@key counter
---@return integer
function count_up(counter)
  return redis.call('INCR', counter)
end

---@guard
---@key thing
---@param text text
---@reply found text?
function text_is(thing, text)
  local found = redis.call('GET', thing)
  if found ~= text then return stop { found = found } end
  return reply { found = found }
end

---@guard
---@key thing
function is_there(thing)
  if redis.call('EXISTS', thing) == 0 then return stop() end
  return reply()
end

--- As Redis 6.2 says it.
---@key thing
function refuse(thing)
  error('@user_script: 26: -NOREPLICAS Not enough good replicas to write.', 0)
end

---@key thing
---@return shared
function share_text(thing)
  return shared(redis.call('GET', thing))
end
