---@include ./redis-run.lua

--- A text that several calls may reply with: here is only one.
local function shared(text)
  return text
end

--- Runs a script by itself. @param is_packed whether its arguments come in one.
local function run_alone(script, is_packed, keys, args)
  local late = refuse_late(args)
  if late then return late end
  local reply = script(keys, is_packed and cmsgpack.unpack(args[1]) or args)
  for _, action in ipairs(endings) do
    action()
  end
  return reply
end
