--- A step for tests of steps: adds a text to a list.
---@key notes
---@param text text
function add_note(notes, text)
  redis.call('RPUSH', notes, text)
end
