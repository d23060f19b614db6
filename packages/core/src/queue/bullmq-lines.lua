---@include ./bullmq-shard.lua
---@include ./redis-held-counts.lua
---@const jobFields ./bullmq-layout

-- A line is the lane of a group of events: an endpoint has one for each group that waits. The name of its lane is `line.endpoint`, and
-- that of a lane for the whole endpoint is the endpoint's id.
--
-- Beside its lane, each entry is among all that an endpoint has in lines, and in a hash that tells the line of each. In this hash,
-- `#woken` is up to which entry all lines were put back since the last request to do so; absent: they were. `#` is how many lines there
-- are, and `#held` how many entries are held with the first one of a line that is closed. `#more` is how many more are held than those
-- that have a job and all behind the first ones: one for each line that is left alone, and less all behind the first ones of lines in a
-- window. `#closed <line>` is how a line is closed, as its job has it.
--
-- A line is closed while its job is delayed without an attempt. The field `closed` of its job has the event that is held for it,
-- as any delivery that has a job is: a wake-up opens as many lines as may go. Or it has `IN_WINDOW`: then newer events may come, and
-- none is held. Or `LEFT_ALONE`: all are held, behind a delivery that has a job of its own or until more are there, and wake-ups leave them alone.
-- An operator may remove the job. Another one is closed as that was: what the counts have of a line leaves them as it came.

local IN_WINDOW = '-'
local LEFT_ALONE = '+'
local LINES = '#'
local HELD_BEHIND = '#held'
local HELD_MORE = '#more'
local WOKEN = '#woken'
local CLOSED = '#closed '

-- Neither part of the name has a dot. A pattern would try each place in it.
local function endpoint_of(lane)
  local dot = string.find(lane, '.', 1, true)
  return dot and string.sub(lane, dot + 1) or lane
end

local function line_in(lane)
  local dot = string.find(lane, '.', 1, true)
  return dot and string.sub(lane, 1, dot - 1)
end

local function change_count(lines, field, change)
  if change ~= 0 and redis.call('HINCRBY', lines, field, change) == 0 then redis.call('HDEL', lines, field) end
end

--- How many wait behind the heads of all lanes that go on: of those whose deliveries wait for each other, or of the others. Scripts
--- that run together change it once.
local function count_behind(shard, change, is_in_batches)
  if change == 0 then return end
  local counter = is_in_batches and shard.behind_heads .. ':batched' or shard.behind_heads
  local changed = once[counter]
  once[counter] = (changed or 0) + change
  if changed then return end
  at_end('count ' .. counter, function()
    local sum = once[counter]
    if sum ~= 0 and redis.call('INCRBY', counter, sum) <= 0 then redis.call('DEL', counter) end
  end)
end

--- How many of an endpoint's deliveries are held beside its lane: with jobs of their own, in batches, and in closed lines.
local function held_beside(shard, endpoint)
  local behind = tonumber(redis.call('HGET', lines_of(shard, endpoint), HELD_BEHIND) or 0)
  return redis.call('ZCARD', held_of(shard, endpoint)) + behind
end

local function count_beside(shard, account, endpoint, reason)
  count_held(shard, account .. '/' .. endpoint, held_beside(shard, endpoint), reason)
end

--- An event has become an entry of a lane: nothing to do if that is no line.
local function note_in_line(shard, lane, event, place)
  local line, endpoint = line_in(lane), endpoint_of(lane)
  if not line then return end
  redis.call('ZADD', grouped_of(shard, endpoint), place, event)
  redis.call('HSET', lines_of(shard, endpoint), event, line)
end

--- The same for some that have left it.
local function forget_in_line(shard, lane, events)
  local endpoint = endpoint_of(lane)
  if endpoint == lane or #events == 0 then return end
  redis.call('ZREM', grouped_of(shard, endpoint), unpack(events))
  redis.call('HDEL', lines_of(shard, endpoint), unpack(events))
end

--- The job of a lane was added, or is gone.
local function count_line(shard, lane, change)
  if not line_in(lane) then return end
  local endpoint = endpoint_of(lane)
  local lines = lines_of(shard, endpoint)
  if change < 0 and redis.call('EXISTS', grouped_of(shard, endpoint)) == 0 then
    redis.call('DEL', lines)
  else
    change_count(lines, LINES, change)
  end
end

--- How a line was closed whose job somebody has removed. Nothing: it was not, or is no line.
local function closed_without_job(shard, lane)
  local line = line_in(lane)
  return line and redis.call('HGET', lines_of(shard, endpoint_of(lane)), CLOSED .. line)
end

--- Beside its job, which has the same.
local function note_closed(shard, lane, closed)
  redis.call('HSET', lines_of(shard, endpoint_of(lane)), CLOSED .. line_in(lane), closed)
end

local function note_open(shard, lane)
  redis.call('HDEL', lines_of(shard, endpoint_of(lane)), CLOSED .. line_in(lane))
  redis.call('HDEL', shard.base .. lane_job(lane), 'closed', jobFields.fullAt)
end

--- More or fewer wait behind the first one of a closed line.
local function count_behind_closed(shard, account, lane, closed, change)
  if change == 0 then return end
  local lines = lines_of(shard, endpoint_of(lane))
  if closed == IN_WINDOW then return change_count(lines, HELD_MORE, -change) end
  change_count(lines, HELD_BEHIND, change)
  count_beside(shard, account, endpoint_of(lane))
end

--- A line of this size is closed: its head is held like a delivery that has a job, and those behind it with it. Without an event
--- wake-ups leave it alone.
local function close_line(shard, account, lane, event, place, wake_up_at, size, reason)
  local endpoint, closed, behind = endpoint_of(lane), event or LEFT_ALONE, math.max(size - 1, 0)
  redis.call('HSET', shard.base .. lane_job(lane), 'closed', closed)
  note_closed(shard, lane, closed)
  count_behind(shard, -behind)
  change_count(lines_of(shard, endpoint), HELD_BEHIND, event and behind or behind + 1)
  if event then
    redis.call('ZADD', held_of(shard, endpoint), place, event)
  else
    change_count(lines_of(shard, endpoint), HELD_MORE, 1)
  end
  if wake_up_at then redis.call('ZADD', shard.wake_ups, 'LT', wake_up_at, account .. '/' .. endpoint) end
  count_beside(shard, account, endpoint, reason)
end

--- A closed line goes on: some wait behind its first one.
local function open_line(shard, account, lane, closed)
  note_open(shard, lane)
  local behind = math.max(redis.call('ZCARD', lane_of(shard, lane)) - 1, 0)
  local lines = lines_of(shard, endpoint_of(lane))
  count_behind(shard, behind)
  if closed == IN_WINDOW then return change_count(lines, HELD_MORE, behind) end
  redis.call('ZREM', held_of(shard, endpoint_of(lane)), closed)
  change_count(lines, HELD_BEHIND, closed == LEFT_ALONE and -behind - 1 or -behind)
  if closed == LEFT_ALONE then change_count(lines, HELD_MORE, -1) end
  count_beside(shard, account, endpoint_of(lane))
end

--- So many entries have left a closed line. If the one that is held for it was among them, another one is.
local function leave_closed(shard, account, lane, closed, gone)
  local key, entries = shard.base .. lane_job(lane), lane_of(shard, lane)
  local first = redis.call('ZRANGE', entries, 0, 0, 'WITHSCORES')
  local stands_for_it = closed ~= IN_WINDOW and closed ~= LEFT_ALONE
  if stands_for_it and not redis.call('ZSCORE', entries, closed) then
    local held = held_of(shard, endpoint_of(lane))
    redis.call('ZREM', held, closed)
    if first[1] then
      redis.call('ZADD', held, first[2], first[1])
      note_closed(shard, lane, first[1])
      if redis.call('EXISTS', key) == 1 then redis.call('HSET', key, 'closed', first[1]) end
    end
  end
  if not first[1] then note_open(shard, lane) end
  local lines, behind = lines_of(shard, endpoint_of(lane)), first[1] and gone or gone - 1
  if closed == IN_WINDOW then return change_count(lines, HELD_MORE, behind) end
  change_count(lines, HELD_BEHIND, closed == LEFT_ALONE and -gone or -behind)
  if not first[1] and closed == LEFT_ALONE then change_count(lines, HELD_MORE, -1) end
  count_beside(shard, account, endpoint_of(lane))
end
