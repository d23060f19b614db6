---@include ./bullmq-shard.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@const jobFields ./bullmq-layout

-- What a worker does with a lane whose job it has.

--- The next head of a lane comes at once, if no other job waits: what takes a job after that takes the lane's again, and sees to its
--- fields. Gives whether it does so.
local function goes_on_at_once(shard, token, name, event, has_request, now)
  look_at_queue(shard, now)
  if shard.is_paused or shard.most_active or shard.unsorted > 0 or shard.sorted > 0 then return false end
  local id, lane = lane_job(name), lane_of(shard, name)
  if not is_locked_with(shard, id, token) then return false end
  local first = redis.call('ZRANGE', lane, 0, 1, 'WITHSCORES')
  local next = first[1] == event and 3 or 1
  if not first[next] then return false end
  if redis.call('ZREM', lane, event) == 0 then return false end
  forget_in_line(shard, name, { event })
  if has_request then redis.call('HDEL', carried_of(shard, name), event) end
  shard.stays = { job = id, event = first[next], place = first[next + 1] }
  return true
end

--- The head of a lane has ended: the next one has its turn. Stops if the lane is not the worker's any more.
---@guard
---@key base                    the prefix of the jobs' keys
---@param token text               what its job is locked with
---@param account AccountId
---@param name text              of the lane
---@param event EventId?           absent: nothing was in it
---@param was_held boolean         since its head came first
---@param stays_held boolean       with what is left: nothing was sent
---@param has_request boolean
---@param needs_next boolean       whether what comes after it is of use only if it goes on
---@param now digits
---@param may_stay boolean         whether the same script takes a job after that
function end_head(base, token, account, name, event, was_held, stays_held, has_request, needs_next, now, may_stay)
  local shard = shard_of(base)
  local id = lane_job(name)
  if may_stay and event and not was_held and goes_on_at_once(shard, token, name, event, has_request, now) then
    return reply()
  end
  if #let_go(shard, { id }, { token }) == 0 then return stop() end
  local gone = 0
  if event then
    gone = redis.call('ZREM', lane_of(shard, name), event)
    forget_in_line(shard, name, { event })
    if has_request then redis.call('HDEL', carried_of(shard, name), event) end
  end
  local goes_on = go_on(shard, account, name, gone, was_held, stays_held)
  if needs_next and not goes_on then return stop() end
  return reply()
end

--- Nothing is left to send of these: they leave their lane. The one that a worker runs stays.
---@key base                    the prefix of the jobs' keys
---@param name text                of the lane
---@param events EventId[]
function drop_entries(base, name, events)
  for _, event in ipairs(events) do
    drop_from_lane(shard_of(base), name, event)
  end
end

--- The turn of the delivery that a worker runs begins, if it is still the first one, or the newest one. Gives whether it has.
---@key base                    the prefix of the jobs' keys
---@param token text               what that is locked with
---@param name text              of the lane
---@param event EventId
---@param is_newest boolean        whether it goes in place of all before it
---@return boolean
function begin_head(base, token, name, event, is_newest)
  local shard = shard_of(base)
  if not is_locked_with(shard, lane_job(name), token) then return false end
  local key, lane = shard.base .. lane_job(name), lane_of(shard, name)
  if not is_newest and redis.call('HGET', key, 'head') == event then return true end
  local at = is_newest and -1 or 0
  if redis.call('ZRANGE', lane, at, at)[1] ~= event then return false end
  set_in_batches(shard, name, false)
  redis.call('HSET', key, 'head', event)
  return true
end

--- A lane does not go on, for this reason: all its deliveries are held. The first one of a line is held like a delivery that has a
--- job, and a wake-up comes. Or the line is left alone until its time is over, a delivery has ended that has a job, or more are in it.
---@key base                    the prefix of the jobs' keys
---@param token text               what its job is locked with
---@param account AccountId
---@param name text              of the lane
---@param event EventId?          of a line: held for it; absent: wake-ups leave it alone
---@param place digits
---@param wake_up_at digits?
---@param full_at integer?         it goes on as soon as so many are in it
---@param reason text
---@param hold text                as its job tells it
---@param previous_started_at text   when the former attempt began, as the holds tell times
---@return boolean                 whether it is held: fewer are
function hold_lane(base, token, account, name, event, place, wake_up_at, full_at, reason, hold, previous_started_at)
  local shard = shard_of(base)
  if not is_locked_with(shard, lane_job(name), token) then return true end
  local key, size = shard.base .. lane_job(name), redis.call('ZCARD', lane_of(shard, name))
  if full_at and size >= full_at then return false end
  local known = redis.call('HMGET', key, jobFields.holds, jobFields.inBatches, jobFields.fullAt, 'closed')
  if line_in(name) then
    if known[4] then return true end
    close_line(shard, account, name, event, place, wake_up_at, size, reason)
  else
    if not known[1] then count_behind(shard, math.min(1 - size, 0), known[2]) end
    count_lane_held(shard, account, name, reason)
  end
  note_hold(key, hold, previous_started_at)
  if full_at then
    redis.call('HSET', key, jobFields.fullAt, full_at)
  elseif known[3] then
    redis.call('HDEL', key, jobFields.fullAt)
  end
  return true
end

--- A lane that was held has made an attempt: what waits in it waits for the next one.
---@key base                    the prefix of the jobs' keys
---@param account AccountId
---@param endpoint EndpointId
function reopen_lane(base, account, endpoint)
  local shard = shard_of(base)
  reopen(shard, account, endpoint)
end

--- The request of a head is about to be sent in place of all before it.
---@key base                    the prefix of the jobs' keys
---@param token text               what that is locked with
---@param name text                of the lane
---@param sent text               its place and event
function mark_sent(base, token, name, sent)
  local shard = shard_of(base)
  if not is_locked_with(shard, lane_job(name), token) then return end
  redis.call('HSET', shard.base .. lane_job(name), 'sent', sent)
end

--- It was not sent after all: what was sent before it is the last one again.
---@key base                    the prefix of the jobs' keys
---@param token text               what that is locked with
---@param name text                of the lane
---@param sent text               its place and event
---@param former text?             those of what was sent last before
function unmark_sent(base, token, name, sent, former)
  local shard = shard_of(base)
  local key = shard.base .. lane_job(name)
  if not is_locked_with(shard, lane_job(name), token) or redis.call('HGET', key, 'sent') ~= sent then return end
  if former then return redis.call('HSET', key, 'sent', former) end
  redis.call('HDEL', key, 'sent')
end

--- A line waits for newer events: none of its own is held meanwhile.
---@key base                    the prefix of the jobs' keys
---@param token text               what that is locked with
---@param name text                of the lane
function wait_in_window(base, token, name)
  local shard = shard_of(base)
  if not is_locked_with(shard, lane_job(name), token) then return end
  if redis.call('HSETNX', shard.base .. lane_job(name), 'closed', IN_WINDOW) == 0 then return end
  note_closed(shard, name, IN_WINDOW)
  local behind = math.max(redis.call('ZCARD', lane_of(shard, name)) - 1, 0)
  count_behind(shard, -behind)
  change_count(lines_of(shard, endpoint_of(name)), HELD_MORE, -behind)
end
