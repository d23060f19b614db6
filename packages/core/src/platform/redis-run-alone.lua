---@include ./redis-run.lua

--- A text that several calls may reply with: here is only one.
local function shared(text)
  return text
end

--- Runs a script by itself. Its arguments come packed, in one.
local function run_alone(script, keys, args)
  local late = refuse_late(args)
  if late then return late end
  local reply = script(keys, cmsgpack.unpack(args[1]))
  for _, action in ipairs(endings) do
    action()
  end
  return reply
end
