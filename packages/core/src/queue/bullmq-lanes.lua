---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@include ./bullmq-shard.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./redis-held-counts.lua
---@include ./bullmq-lines.lua
---@include ./bullmq-batches.lua
---@const LANE_JOB_VERSION ./bullmq-event-queue
---@const jobFields ./bullmq-layout
---@record lane_entry {event EventId, accepted_at integer}

-- A lane has the deliveries of an endpoint that go one after the other, or that go in batches, each an entry in a sorted set by the
-- time of acceptance, and one job for all of them: it runs the first one, the head. There is such a job as long as there are entries.
--
-- The job's hash has beside BullMQ's own fields: `head`, the event whose turn has begun; `members`, those that go together with it in
-- strict order; `since`, since when the next one waits, and `behind`, both once an entry has waited behind another one; `held`, as any job, while the lane does not go on; `full`, if it
-- goes on as soon as so many are in it; `carries`, if some of its entries have a request; `batches`, if they need not wait for each
-- other; `sent`, the place and the event of the last one that was sent in place of older ones; `looked`, since when the lane was looked
-- through for those that may be open no longer, and the place and the event up to which.

local function lane_data(account)
  return '{"account_id":"' .. account .. '","v":' .. LANE_JOB_VERSION .. '}'
end

local function place_in(sent)
  local place, event = string.match(sent, '^(%d+) (.*)$')
  return tonumber(place), event
end

local function is_after(sent, other)
  local place, event = place_in(sent)
  local other_place, other_event = place_in(other)
  if place ~= other_place then return place > other_place end
  return event > other_event
end

--- Of what `WITHSCORES` gives: the events, and the place of each.
local function entries_in(flat)
  local events, places = {}, {}
  for i = 1, #flat, 2 do
    events[#events + 1], places[#places + 1] = flat[i], tonumber(flat[i + 1])
  end
  return events, places
end

--- The place and the event of the last entry of an order.
local function last_in(order)
  local last = redis.call('ZRANGE', order, -1, -1, 'WITHSCORES')
  return last[1] and last[2] .. ' ' .. last[1]
end

--- Where a new event goes in its lane: never before the last one, nor before others that were accepted before it, whatever the time of
--- its acceptance: what was sent last in place of older ones, and the last one beside the lane. Redis' clock may have been set back, or
--- a replica with an earlier one promoted.
local function place_of_new(order, event, accepted_at, sent, beside)
  local last = last_in(order)
  if sent and (not last or is_after(sent, last)) then last = sent end
  if beside and (not last or is_after(beside, last)) then last = beside end
  if not last or not is_after(last, accepted_at .. ' ' .. event) then return accepted_at end
  local last_place = place_in(last)
  if redis.call('ZSCORE', order, event) then return accepted_at end
  return string.format('%d', last_place + 1)
end

--- From now on the deliveries of a lane have to wait for each other, or need not: those behind the first one count so.
local function set_in_batches(shard, name, is_in_batches)
  local key = shard.base .. lane_job(name)
  local is_other = is_in_batches and redis.call('HSET', key, jobFields.inBatches, '1')
    or redis.call('HDEL', key, jobFields.inBatches)
  if is_other == 0 or redis.call('HEXISTS', key, jobFields.holds) == 1 then return end
  local behind = math.max(redis.call('ZCARD', lane_of(shard, name)) - 1, 0)
  count_behind(shard, -behind, not is_in_batches)
  count_behind(shard, behind, is_in_batches)
end

--- Of a lane that does not go on.
local function count_lane_held(shard, account, endpoint, reason)
  local left = redis.call('ZCARD', lane_of(shard, endpoint)) + held_beside(shard, endpoint)
  count_held(shard, account .. '/' .. endpoint, left, reason)
end

--- What a script knows of a lane that it adds to.
local function open_lane(shard, account, name)
  local fields = redis.call(
    'HMGET',
    shard.base .. lane_job(name),
    jobFields.name,
    jobFields.holds,
    'closed',
    jobFields.inBatches,
    jobFields.fullAt,
    'sent'
  )
  local is_line = line_in(name) ~= nil
  local endpoint = endpoint_of(name)
  -- An event whose endpoint has another order now may still be where that was.
  local elsewhere = is_line and lane_of(shard, endpoint) or grouped_of(shard, endpoint)
  return {
    account = account,
    name = name,
    endpoint = endpoint,
    key = lane_of(shard, name),
    elsewhere = redis.call('EXISTS', elsewhere) == 1 and elsewhere,
    has_job = fields[1],
    is_held = fields[2] and not is_line,
    closed = fields[3],
    is_in_batches = fields[4],
    full_at = tonumber(fields[5]),
    sent = fields[6],
    added = 0,
    carries = false,
  }
end

local function enter(shard, lane, event, place, request)
  if lane.elsewhere and redis.call('ZSCORE', lane.elsewhere, event) then return end
  if redis.call('ZADD', lane.key, 'NX', place, event) == 0 then return end
  note_in_line(shard, lane.name, event, place)
  lane.added = lane.added + 1
  if not request then return end
  redis.call('HSET', carried_of(shard, lane.name), event, request)
  lane.carries = true
end

--- A lane that was put off until more are in it goes on.
local function go_on_if_full(shard, lane)
  local id = lane_job(lane.name)
  if not lane.full_at or redis.call('ZCARD', lane.key) < lane.full_at then return false end
  if redis.call('ZREM', shard.delayed, id) == 0 then return false end
  redis.call('HDEL', shard.base .. id, jobFields.fullAt)
  put_back(shard, id, lane.account, lane.endpoint)
  return true
end

--- A lane whose job an operator has removed goes on: if it was held, it is counted as such no more, but as waiting.
local function forget_lost_hold(shard, lane, others)
  local address = lane.account .. '/' .. lane.endpoint
  local known, beside = redis.call('HGET', shard.counted, address), held_beside(shard, lane.endpoint)
  if not known or tonumber(string.match(known, '%d+$')) <= beside then return end
  count_held(shard, address, beside)
  count_behind(shard, others - 1, lane.is_in_batches)
end

--- After entries were added: its job, if there was none, and its counts. An operator may have removed the job of those that are there:
--- then it is closed as that was, until it is taken.
local function see_to_job(shard, lane)
  if lane.added == 0 and lane.has_job then return end
  local others = lane.has_job and 0 or redis.call('ZCARD', lane.key) - lane.added
  if lane.added + others == 0 then return end
  local id, is_new = lane_job(lane.name), not lane.has_job and others == 0
  if not lane.has_job then
    local priority = priority_of(shard, lane.account, lane.endpoint)
    store_job(shard.base .. id, lane_data(lane.account), string.format('%d', time_now()), priority)
    if lane.is_in_batches then redis.call('HSET', shard.base .. id, jobFields.inBatches, '1') end
    put_in_place(shard, { id }, { priority })
    wake_workers(shard)
    if is_new then count_line(shard, lane.name, 1) end
    lane.closed = not is_new and closed_without_job(shard, lane.name)
    if lane.closed then redis.call('HSET', shard.base .. id, 'closed', lane.closed) end
    if not is_new and not line_in(lane.name) then forget_lost_hold(shard, lane, others) end
    lane.carries = lane.carries or not is_new and redis.call('EXISTS', carried_of(shard, lane.name)) == 1
  end
  if lane.closed then
    count_behind_closed(shard, lane.account, lane.name, lane.closed, lane.added)
    go_on_if_full(shard, lane)
  elseif lane.is_held then
    count_lane_held(shard, lane.account, lane.endpoint)
    go_on_if_full(shard, lane)
  else
    count_behind(shard, is_new and lane.added - 1 or lane.added, lane.is_in_batches)
  end
  if lane.carries then redis.call('HSET', shard.base .. id, 'carries', '1') end
end

--- A lane goes on as it did where its entries come from: with what was sent last in place of older ones, and with those whose turn had
--- begun, unless it has its own.
local function take_over_turn(shard, lane, head, members, sent)
  local key = shard.base .. lane_job(lane.name)
  if lane.is_left_out or not (head or sent) or redis.call('EXISTS', key) == 0 then return end
  local known = sent and redis.call('HGET', key, 'sent')
  if sent and (not known or is_after(sent, known)) then redis.call('HSET', key, 'sent', sent) end
  if not head or not redis.call('ZSCORE', lane.key, head) then return end
  if redis.call('HSETNX', key, 'head', head) == 0 or not members then return end
  redis.call('HSET', key, jobFields.members, members)
end

--- What has the places of those that have jobs of their own beside a lane.
local function beside_of(name)
  local endpoint, line = endpoint_of(name), line_in(name)
  return keys.order(endpoint) .. (line and ':' .. line or '')
end

--- Adds deliveries to the lanes of their endpoints. One that has a job of its own, or is there or in a batch, stays as it is.
---@key base                    the prefix of the jobs' keys
---@param accounts AccountId[]     of each delivery
---@param names text[]           of their lanes
---@param events EventId[]
---@param accepted_at digits[]
---@param are_new boolean[]        accepted just now
---@param requests text?[]         for which it is to be sent, if it is for one
---@param are_in_batches boolean[] of a lane whose deliveries need not wait for each other
---@param head EventId?            whose turn had begun in the lane that all of them come from
---@param members text?            those that went together with it
---@param sent text?               what had been sent there last in place of older ones: its place and event
---@param only 'if_there'|'if_idle'|'always'  to lanes that have entries, or to those that no worker has
---@param sees_beside boolean      what is beside the lanes is on this server
---@return boolean                 whether all are so
function add_to_lanes(
  base,
  accounts,
  names,
  events,
  accepted_at,
  are_new,
  requests,
  are_in_batches,
  head,
  members,
  sent,
  only,
  sees_beside
)
  local shard = shard_of(base)
  local jobs, asked, lanes, lane_at = {}, {}, {}, {}
  for i, event in ipairs(events) do
    local endpoint = endpoint_of(names[i])
    local job = shard.base .. delivery_job(event, endpoint)
    jobs[i], asked[#asked + 1] = job, job
    if names[i] ~= names[i - 1] then
      asked[#asked + 1] = batches_of(shard, endpoint)
      if sees_beside and are_new[i] then asked[#asked + 1] = beside_of(names[i]) end
    end
  end
  -- Mostly none of them is there, nor a batch.
  local looks = is_any_there(asked)
  local function is_there(i)
    if not looks then return false end
    if redis.call('EXISTS', jobs[i]) == 1 then return true end
    return redis.call('HEXISTS', batches_of(shard, endpoint_of(names[i])), events[i]) == 1
  end
  for i, event in ipairs(events) do
    local name = names[i]
    local lane = lane_at[name]
    if not lane then
      lane = open_lane(shard, accounts[i], name)
      lane.is_in_batches = lane.is_in_batches or not lane.has_job and are_in_batches[i]
      if only == 'if_there' then lane.is_left_out = redis.call('EXISTS', lane.key) == 0 end
      if only == 'if_idle' then
        lane.is_left_out = redis.call('EXISTS', shard.base .. lane_job(name) .. ':lock') == 1
      end
      lane_at[name], lanes[#lanes + 1] = lane, lane
    end
    if not lane.is_left_out and not is_there(i) then
      local place = accepted_at[i]
      if are_new[i] then
        if looks and sees_beside then lane.beside = lane.beside or last_in(beside_of(name)) end
        place = place_of_new(lane.key, event, place, lane.sent, lane.beside)
      end
      enter(shard, lane, event, place, requests[i])
    end
  end
  local are_all_so = true
  for _, lane in ipairs(lanes) do
    see_to_job(shard, lane)
    take_over_turn(shard, lane, head, members, sent)
    are_all_so = are_all_so and not lane.is_left_out
  end
  return are_all_so
end

--- These entries leave their lane. Gives how many were in it.
local function remove_entries(shard, name, events)
  if #events == 0 then return 0 end
  forget_in_line(shard, name, events)
  redis.call('HDEL', carried_of(shard, name), unpack(events))
  return redis.call('ZREM', lane_of(shard, name), unpack(events))
end

--- What a lane's job has of its head alone, BullMQ's counts too, goes with it.
local function forget_head(key, ...)
  local counted = { jobFields.attemptsMade, jobFields.stalledCount, jobFields.failedReason, ... }
  redis.call('HDEL', key, 'head', jobFields.members, jobFields.stacktrace, unpack(counted))
end

--- After some entries have gone, and its worker has let go of its job: the lane goes on at its place in the fair order, or its job is
--- gone with the last entry. If nothing was sent, those that need not wait for each other stay held until they run.
local function go_on(shard, account, name, gone, was_held, stays_held)
  local id, lane, endpoint = lane_job(name), lane_of(shard, name), endpoint_of(name)
  local key = shard.base .. id
  -- Redis writes a number as a text far slower than it takes the text.
  local next = redis.call('ZRANGE', lane, '0', '0', 'WITHSCORES')
  local known =
    redis.call('HMGET', key, jobFields.attemptsStarted, jobFields.inBatches, jobFields.holds, jobFields.members)
  local is_in_batches = known[2]
  stays_held = stays_held and next[1] and known[3]
  if stays_held then
    count_lane_held(shard, account, endpoint)
  elseif was_held then
    count_held(shard, account .. '/' .. endpoint, held_beside(shard, endpoint))
    if next[1] then count_behind(shard, redis.call('ZCARD', lane) - 1, is_in_batches) end
  else
    count_behind(shard, next[1] and -gone or math.min(1 - gone, 0), is_in_batches)
  end
  if not next[1] then
    redis.call('DEL', key, key .. ':lock', carried_of(shard, name))
    count_line(shard, name, -1)
    return false
  end
  local priority = priority_of(shard, account, endpoint)
  -- A head that ran once has left nothing else. A field that is missing costs Redis the most.
  if known[1] == '1' and not known[3] and not known[4] then
    redis.call('HDEL', key, 'head')
  elseif stays_held then
    forget_head(key, jobFields.fullAt)
  else
    forget_head(key, jobFields.fullAt, jobFields.holds)
  end
  -- Its holds are read only if it ran before.
  local runs = stays_held and '1' or '0'
  local waits = { jobFields.waitingSince, next[2], jobFields.hasWaited, '1', jobFields.attemptsStarted, runs }
  redis.call('HSET', key, 'priority', priority, unpack(waits))
  redis.call('DEL', key .. ':lock')
  put_in_place(shard, { id }, { priority })
  wake_workers(shard)
  return true
end

--- A lane that was held has made an attempt: what waits in it waits for the next one.
local function reopen(shard, account, endpoint)
  local key = shard.base .. lane_job(endpoint)
  if redis.call('HDEL', key, jobFields.holds) == 0 then return end
  count_held(shard, account .. '/' .. endpoint, held_beside(shard, endpoint))
  local is_in_batches = redis.call('HEXISTS', key, jobFields.inBatches) == 1
  count_behind(shard, math.max(redis.call('ZCARD', lane_of(shard, endpoint)) - 1, 0), is_in_batches)
end

local function own_data(account, request)
  return '{"account_id":"' .. account .. '"' .. (request and ',"request":' .. request or '') .. '}'
end

--- Gives deliveries jobs of their own, and these what is told of their holds, or why they have failed for good.
local function add_own_jobs(shard, account, endpoint, events, requests, holds, failure)
  local now, added, priorities = string.format('%d', time_now()), {}, {}
  for i, event in ipairs(events) do
    local id = delivery_job(event, endpoint)
    if redis.call('EXISTS', shard.base .. id) == 0 and not redis.call('ZSCORE', lane_of(shard, endpoint), event) then
      local priority = priority_of(shard, account, endpoint)
      store_own_job(shard.base .. id, own_data(account, requests[i]), now, priority, '')
      if holds then redis.call('HSET', shard.base .. id, jobFields.holds, holds, jobFields.attemptsStarted, 1) end
      if failure then
        redis.call('HSET', shard.base .. id, jobFields.deferredFailure, failure, jobFields.attemptsStarted, 1)
      end
      added[#added + 1], priorities[#priorities + 1] = id, priority
    end
  end
  if #added > 0 then put_in_place(shard, added, priorities) end
  wake_workers(shard)
end

--- A job that has failed for good is as new. Gives whether it had.
local function renew_failed(shard, id)
  if redis.call('ZREM', shard.failed, id) == 0 then return false end
  local counted = { jobFields.attemptsMade, jobFields.attemptsStarted, jobFields.stalledCount }
  redis.call('HDEL', shard.base .. id, 'finishedOn', 'processedOn', jobFields.failedReason, unpack(counted))
  return true
end

--- Puts a lane's job back, if it is delayed. One that has failed for good could not be read: it is as new.
local function wake_lane(shard, account, name)
  local id = lane_job(name)
  if redis.call('ZREM', shard.delayed, id) == 0 then
    if not renew_failed(shard, id) then return false end
    redis.call('HSET', shard.base .. id, 'data', lane_data(account))
  end
  put_back(shard, id, account, endpoint_of(name))
  return true
end

--- Whether it is a delivery's turn: it is the head, or goes together with it, or comes next.
local function has_its_turn(lane, event, head, members)
  if string.find(' ' .. (members or '') .. ' ', ' ' .. event .. ' ', 1, true) then return true end
  return (head or redis.call('ZRANGE', lane, 0, 0)[1]) == event
end

--- The lane goes on now if this delivery is its head, or comes next. Gives whether it was put back.
local function wake_lane_for(shard, name, event)
  local fields = redis.call('HMGET', shard.base .. lane_job(name), 'head', jobFields.data)
  local account = account_in(fields[2])
  if not account or not has_its_turn(lane_of(shard, name), event, fields[1]) then return false end
  return wake_lane(shard, account, name)
end

--- Takes a job away from where it waits, if it does. Gives whether it did.
local function take_idle(shard, id)
  return redis.call('ZREM', shard.delayed, id) == 1
    or redis.call('ZREM', shard.failed, id) == 1
    or redis.call('ZREM', shard.prioritized, id) == 1
end

--- Nothing is left to send of a delivery: it leaves its lane, if no worker runs it. Gives whether one does.
local function drop_from_lane(shard, name, event)
  local id, lane = lane_job(name), lane_of(shard, name)
  local key = shard.base .. id
  if not redis.call('ZSCORE', lane, event) then return false end
  local is_running = redis.call('EXISTS', key .. ':lock') == 1
  local fields =
    redis.call('HMGET', key, 'head', jobFields.holds, jobFields.data, 'closed', jobFields.inBatches, jobFields.members)
  if is_running and has_its_turn(lane, event, fields[1], fields[6]) then return true end
  remove_entries(shard, name, { event })
  if fields[1] == event then redis.call('HDEL', key, 'head') end
  local left = redis.call('ZCARD', lane)
  local account = account_in(fields[3]) or ''
  local closed = fields[4] or not fields[3] and closed_without_job(shard, name)
  if closed then
    leave_closed(shard, account, name, closed, 1)
  elseif fields[2] and not line_in(name) then
    count_lane_held(shard, account, name)
  elseif left > 0 then
    count_behind(shard, -1, fields[5])
  end
  if left > 0 or is_running then return false end
  -- Somebody may have removed it.
  if take_idle(shard, id) or not fields[3] then
    redis.call('DEL', key, carried_of(shard, name))
    count_line(shard, name, -1)
  end
  return false
end

--- The rank of what comes behind an entry, which may be gone.
local function rank_behind(entries, last)
  local place, event = string.match(last, '^(%S+) (.*)$')
  if not event then return 0 end
  local rank = redis.call('ZRANK', entries, event)
  return rank and rank + 1 or redis.call('ZCOUNT', entries, '-inf', '(' .. place)
end

--- Some entries of a lane that were accepted until a time, and not requested after it: they may be open no longer. Each call goes on
--- behind those that were looked at. So each is looked at once in an hour, however often the lane runs: others may have come before it.
---@key base                    the prefix of the jobs' keys
---@param name text                of the lane
---@param latest digits
---@reply events EventId[]
---@reply places integer[]         of each
---@reply requests text?[]         for which each is to be sent
---@reply are_more boolean         that were not looked at yet
function find_over(base, name, latest)
  local shard = shard_of(base)
  local job, lane = shard.base .. lane_job(name), lane_of(shard, name)
  local looked_at_once, found_at_once, again_after_s = 1000, 100, 3600
  local known = redis.call('HMGET', job, jobFields.name, 'looked')
  if not known[1] then return reply {} end
  local now = math.floor(time_now() / 1000)
  local began, last = string.match(known[2] or '', '^(%d+) ?(.*)$')
  if not began or math.abs(now - tonumber(began)) >= again_after_s then
    began, last = now, ''
  end
  local first, over = rank_behind(lane, last), redis.call('ZCOUNT', lane, '-inf', latest)
  local stop_at = math.min(first + looked_at_once, over)
  if first >= stop_at then return reply {} end
  local some, at = entries_in(redis.call('ZRANGE', lane, first, stop_at - 1, 'WITHSCORES'))
  local events, places, requests, looked = {}, {}, {}, 0
  for i, request in ipairs(redis.call('HMGET', carried_of(shard, name), unpack(some))) do
    looked = i
    local requested_at = request and tonumber(string.match(request, '"at":(%d+)'))
    if not requested_at or requested_at <= tonumber(latest) then
      events[#events + 1], places[#events + 1], requests[#events + 1] = some[i], at[i], request
    end
    if #events == found_at_once then break end
  end
  redis.call('HSET', job, 'looked', string.format('%d %d %s', began, at[looked], some[looked]))
  return reply { events = events, places = places, requests = requests, are_more = first + looked < over }
end

--- What a lane tells of its deliveries.
---@key base                    the prefix of the jobs' keys
---@param name text                of the lane
---@reply first EventId?           whose turn it is, or comes next
---@reply is_held boolean          the lane does not go on
---@reply has_job boolean          an operator may have removed it
---@reply is_running boolean
---@reply is_in_window boolean     of a line: newer events may come
---@reply holds text?
---@reply is_in_batches boolean    its deliveries need not wait for each other
---@reply members EventId[]        those that go together with the first one
function lane_standing(base, name)
  local shard = shard_of(base)
  local job, lane = shard.base .. lane_job(name), lane_of(shard, name)
  local fields =
    redis.call('HMGET', job, 'head', jobFields.holds, 'closed', jobFields.inBatches, jobFields.members, jobFields.name)
  local head = fields[1] and redis.call('ZSCORE', lane, fields[1]) and fields[1]
  local is_running = redis.call('EXISTS', job .. ':lock') == 1
  return reply {
    first = head or redis.call('ZRANGE', lane, 0, 0)[1],
    is_held = (fields[3] or fields[2] and not line_in(name)) and fields[3] ~= IN_WINDOW and not is_running,
    has_job = fields[6] and true,
    is_running = is_running,
    is_in_window = fields[3] == IN_WINDOW,
    holds = fields[2],
    is_in_batches = fields[4] and true,
    members = events_in(fields[5]),
  }
end

--- Those that exist.
---@keys jobs                      of lanes, or what an endpoint has in lines
---@return text[]
function find_lanes(jobs)
  local found = {}
  for _, job in ipairs(jobs) do
    if redis.call('EXISTS', job) == 1 then found[#found + 1] = job end
  end
  return found
end
