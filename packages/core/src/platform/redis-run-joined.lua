---@include ./redis-run.lua

local shared_texts = {}
local shared_numbers = {}

--- A text that several calls may reply with: gives its number, and each text is sent once.
local function shared(text)
  if not shared_numbers[text] then
    shared_texts[#shared_texts + 1] = text
    shared_numbers[text] = #shared_texts
  end
  return shared_numbers[text]
end

--- The first word of what Redis says when it takes no writes now.
local write_refusals = { OOM = true, READONLY = true, MISCONF = true, NOREPLICAS = true }

--- Runs the calls of a unit, up to a guard that stops those after it. Each has the number of its script, its keys and its
--- arguments.
local function run_calls(scripts, guards, calls, replies)
  for i, call in ipairs(calls) do
    local number = tonumber(call[1])
    local reply = scripts[number](call[2], call[3])
    local first = reply
    if type(reply) == 'table' then
      if reply.err then error(reply) end
      first = reply[1]
    end
    replies[i + 1] = reply or false
    if guards[number] and (first == 0 or not first) then return end
  end
end

--- Runs the calls of each unit, packed. Gives for each unit its error or false, and then the reply of each call that has run
--- without one; and the texts that the scripts have shared. When Redis itself refuses to write, nothing was written: that is the
--- error of all.
local function run_joined(scripts, guards, args)
  local late = refuse_late(args)
  if late then return late end
  local all = {}
  for i, calls in ipairs(cmsgpack.unpack(args[1])) do
    local replies = { false }
    local ok, err = pcall(run_calls, scripts, guards, calls, replies)
    if not ok then
      local text = type(err) == 'table' and err.err or tostring(err)
      -- Redis 6.2 says before a refusal where that was.
      text = string.gsub(text, '^@user_script: %d+: %-', '')
      if write_refusals[string.match(text, '^%u+')] then return { err = text } end
      replies[1] = text
    end
    all[i] = replies
  end
  for _, action in ipairs(endings) do
    action()
  end
  return { all, shared_texts }
end
