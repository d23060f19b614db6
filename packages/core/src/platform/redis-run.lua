---@include ./redis-time.lua

-- The beginning of each text that is sent to Redis: `redis-script-text.ts` puts it there. It imports this file, so nothing here
-- may need its constants.

-- Redis makes all of these functions again for each call, so there are few.

--- For scripts that run as one: each need not repeat what is the same for all of them. Empty at the start.
local once = {}
--- Actions that are run when all scripts are over.
local endings = {}

--- Adds an ending, the first one of each name only: for that it gives true.
local function at_end(name, action)
  if once[name] then return false end
  once[name] = true
  endings[#endings + 1] = action
  return true
end

--- Gives an error if the deadline has passed: then nothing is to be run. It is the last argument, in milliseconds since the Unix
--- epoch, '' if there is none. `LATE` is also in `redis-deadline.ts`.
local function refuse_late(args)
  local deadline = tonumber(table.remove(args))
  if deadline and time_now() > deadline then
    return redis.error_reply('LATE The script was called too long ago. It was not run.')
  end
end
