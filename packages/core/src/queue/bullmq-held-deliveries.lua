---@include ./bullmq-shard.lua
---@include ./bullmq-put-back.lua
---@include ./redis-held-counts.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@include ./bullmq-lines.lua
---@include ./bullmq-batches.lua
---@const DELAYED_SCORE, jobFields ./bullmq-layout

--- Some of the endpoint's jobs that wait, those next in order, with when their events were accepted. One that was put back is left
--- alone: there is room for it.
local function find_others(shard, suffix, most)
  -- So many are read at a time, as long as half of them are the endpoint's.
  local page_size, seen, is_enough = 50, 0, false
  local others, accepted = {}, {}
  while not is_enough do
    local page = redis.call('ZRANGE', shard.prioritized, seen, seen + page_size - 1)
    local before = #others
    for _, job in ipairs(page) do
      if string.sub(job, -#suffix) == suffix and #others < most then
        local known = redis.call('HMGET', shard.base .. job, jobFields.acceptedAt, jobFields.waitingSince)
        if known[1] and known[1] ~= '' and not known[2] then
          others[#others + 1], accepted[#accepted + 1] = job, known[1]
        end
      end
    end
    seen = seen + #page
    is_enough = #page < page_size or (#others - before) * 2 < #page or #others >= most
  end
  return others, accepted
end

--- The id of the endpoint.
local function id_in(address)
  return string.match(address, '[^/]*$')
end

--- Held deliveries and a lane that does not go on count together.
local function count_with_lane(shard, address, reason)
  local endpoint = id_in(address)
  local left = held_beside(shard, endpoint)
  if redis.call('HEXISTS', shard.base .. lane_job(endpoint), jobFields.holds) == 1 then
    left = left + redis.call('ZCARD', lane_of(shard, endpoint))
  end
  count_held(shard, address, left, reason)
end

--- How many of an endpoint's deliveries are held: in a lane, all of them if it does not go on, else those that wait for the first one
--- if they have to. The first one of a line is held if the line is: then it is among those that have a job, unless wake-ups leave the
--- line alone. Of a line in a window none is.
---@key base                    the prefix of the jobs' keys
---@param endpoint EndpointId
---@return integer
function count_all_held(base, endpoint)
  local shard = shard_of(base)
  local of_lines = redis.call('HMGET', lines_of(shard, endpoint), LINES, HELD_MORE)
  local in_lines = redis.call('ZCARD', grouped_of(shard, endpoint))
    - tonumber(of_lines[1] or 0)
    + tonumber(of_lines[2] or 0)
  local left = redis.call('ZCARD', held_of(shard, endpoint)) + math.max(in_lines, 0)
  local size = redis.call('ZCARD', lane_of(shard, endpoint))
  if size == 0 then return left end
  local fields = redis.call('HMGET', shard.base .. lane_job(endpoint), jobFields.holds, jobFields.inBatches)
  if fields[1] then return left + size end
  return fields[2] and left or left + size - 1
end

--- An earlier wake-up stays. The jobs of others that are held together with it move from waiting to delayed together with their
--- entries, as if a worker had taken each for that, its count of starts included: its worker must know later that it has waited.
---@key base                    the prefix of the jobs' keys
---@param job text                of the delivery, or of the batch
---@param events EventId[]        of the delivery, or of all that are in the batch
---@param accepted_at digits[]    of each
---@param address text           of the endpoint
---@param wake_up_at digits
---@param reason text
---@param hold text               as the jobs tell it
---@param previous_started_at text   when the former attempt began, as the job's holds tell times
---@param now integer
---@param others_for_ms integer?   for how long others are delayed; absent: no others are held
---@return text[]                 the ids of the others' jobs
function enter_held(
  base,
  job,
  events,
  accepted_at,
  address,
  wake_up_at,
  reason,
  hold,
  previous_started_at,
  now,
  others_for_ms
)
  local shard = shard_of(base)
  local endpoint = id_in(address)
  local held, suffix = held_of(shard, endpoint), '.' .. endpoint
  -- The most of the delay between jobs that are held together: they must not come back together.
  local most_others, spread_ms = 200, 15000
  for i, event in ipairs(events) do
    redis.call('ZADD', held, 'NX', accepted_at[i], event)
  end
  redis.call('ZADD', shard.wake_ups, 'LT', wake_up_at, address)
  note_hold(shard.base .. job, hold, previous_started_at)

  local others, accepted = {}, {}
  if others_for_ms then
    others, accepted = find_others(shard, suffix, most_others)
  end
  for i, other in ipairs(others) do
    local delay = others_for_ms + math.floor(i * math.min(spread_ms, others_for_ms / most_others))
    redis.call('ZREM', shard.prioritized, other)
    redis.call('ZADD', shard.delayed, string.format('%d', (now + delay) * DELAYED_SCORE), other)
    redis.call('HSET', shard.base .. other, 'delay', string.format('%d', delay), jobFields.holds, hold)
    redis.call('HINCRBY', shard.base .. other, jobFields.attemptsStarted, 1)
    redis.call('ZADD', held, 'NX', accepted[i], string.sub(other, 1, -#suffix - 1))
  end
  count_with_lane(shard, address, reason)
  return others
end

--- The caller has changed something that a running wake-up may not have seen. So this always changes the time, and the running
--- wake-up sees the difference at the end.
---@key base                    the prefix of the jobs' keys
---@param address text           of the endpoint
---@param at integer
---@param wakes_lines boolean     whether all its lines go on: what they wait for may be another thing now
function ask_for_wake_up(base, address, at, wakes_lines)
  local shard = shard_of(base)
  local lines = lines_of(shard, id_in(address))
  if wakes_lines and redis.call('EXISTS', lines) == 1 then redis.call('HSET', lines, WOKEN, '') end
  local due = tonumber(redis.call('ZSCORE', shard.wake_ups, address) or 'inf')
  redis.call('ZADD', shard.wake_ups, string.format('%d', math.min(due - 1, at)), address)
end

--- An entry is removed together with the move of its job from delayed to waiting. The move works as BullMQ's own `promote`, except
--- that the job gets its position in the present fair order. The entry is also removed when the job is waiting already or is gone.
--- A worker that runs the job may be about to delay it: then the entry stays, and another wake-up follows soon. The same goes for
--- a job whose worker died, which BullMQ puts back.
---
--- The time of the next wake-up only changes if no other was asked for meanwhile. All of a batch are released together.
---
--- A lane, or a line of a held entry, whose job somebody has removed gets another one.
---
--- A lane that is put off goes on, whatever it waits for: its run finds out whether it may. One that runs may be about to be put off.
--- One that waits for more deliveries goes on only if a wake-up was asked for.
---@key base                    the prefix of the jobs' keys
---@param address text           of the endpoint
---@param most integer            to release
---@param was_due_at digits?      when the wake-up was due
---@param again_at digits         when the next one is due
---@param soon_at digits          when it is due instead if a worker is at one of the jobs
---@param only EventId[]          of these alone, and also those of lines that wake-ups leave alone; none: of all
---@param lines_too boolean       beside those alone, any lines that are held
---@param wakes_lines boolean     whether all lines go on, as if that had been asked for
---@reply released integer
---@reply left integer            how many are still held
---@reply missing EventId[]       those that were asked for and have no job at all
---@reply has_more_lines boolean  that were to go on, and have not yet
function release_held(base, address, most, was_due_at, again_at, soon_at, only, lines_too, wakes_lines)
  local shard = shard_of(base)
  local account, endpoint = string.match(address, '^(.*)/(.*)$')
  local held, lines, suffix = held_of(shard, endpoint), lines_of(shard, endpoint), '.' .. endpoint
  local may_go = most > 0
  -- What has waited already goes by an order of its own, not behind those of the endpoint that came later.
  local flow = endpoint .. ':held'
  local released, opened, missing, is_busy = 0, 0, {}, false
  local due = redis.call('ZSCORE', shard.wake_ups, address)
  local is_unchanged = (due and string.format('%d', due) or nil) == was_due_at

  -- Its own, or that of its batch.
  local function find_job(event)
    local job = event .. suffix
    if redis.call('EXISTS', shard.base .. job) == 1 then return job, { event } end
    job = batch_job_of(shard, endpoint, event)
    if job then return job, events_in(redis.call('HGET', shard.base .. job, jobFields.members)) end
  end

  local function restore_job(name)
    local lane = open_lane(shard, account, name)
    if lane.has_job then return end
    see_to_job(shard, lane)
    released = released + 1
  end

  -- Puts lines back that are delayed and not held, those of the entries behind the one that was the last before. Gives whether there
  -- may be more.
  local function wake_some_lines(last)
    local grouped, at_once = grouped_of(shard, endpoint), 500
    local first = rank_behind(grouped, last)
    local some, places = entries_in(redis.call('ZRANGE', grouped, first, first + at_once - 1, 'WITHSCORES'))
    local seen = {}
    for _, line in ipairs(#some > 0 and redis.call('HMGET', lines, unpack(some)) or {}) do
      if line and not seen[line] then
        seen[line] = true
        local name = line .. suffix
        local closed = redis.call('HGET', shard.base .. lane_job(name), 'closed')
        local is_held = closed and closed ~= IN_WINDOW and closed ~= LEFT_ALONE
        if not is_held and wake_lane(shard, account, name) then
          released = released + 1
        elseif not closed then
          restore_job(name)
        end
      end
    end
    if #some < at_once then
      redis.call('HDEL', lines, WOKEN)
      return false
    end
    redis.call('HSET', lines, WOKEN, string.format('%d %s', places[#some], some[#some]))
    return true
  end

  -- Of a line: it does not go on, and none of its entries is among those that are held with jobs.
  local function is_left_alone(event)
    local line = redis.call('HGET', lines, event)
    return line and redis.call('HGET', shard.base .. lane_job(line .. suffix), 'closed') == LEFT_ALONE
  end

  -- Gives whether it is a line's.
  local function release_line(event)
    local line = redis.call('HGET', lines, event)
    if not line then return false end
    local name = line .. suffix
    local job = lane_job(name)
    if redis.call('LPOS', shard.active, job) then
      is_busy = true
      return true
    end
    if redis.call('ZREM', shard.delayed, job) == 1 then
      put_back(shard, job, account, flow)
      released = released + 1
    else
      restore_job(name)
    end
    local closed = redis.call('HGET', shard.base .. job, 'closed')
    if closed then open_line(shard, account, name, closed) end
    if closed ~= event then redis.call('ZREM', held, event) end
    return true
  end

  local function release(event)
    local job, together = event .. suffix, { event }
    local is_delayed = redis.call('ZREM', shard.delayed, job) == 1
    if not is_delayed then
      job, together = find_job(event)
      is_delayed = job and redis.call('ZREM', shard.delayed, job) == 1
    end
    if is_delayed then
      put_back(shard, job, account, flow)
      released = released + 1
      redis.call('ZREM', held, unpack(together))
    elseif not job then
      if release_line(event) then return end
      missing[#missing + 1] = event
    elseif redis.call('LPOS', shard.active, job) then
      is_busy = true
      return
    end
    redis.call('ZREM', held, event)
  end

  if #only > 0 then
    for _, event in ipairs(only) do
      if released >= math.max(most, 1) then break end
      if redis.call('ZSCORE', held, event) then
        release(event)
      elseif is_left_alone(event) then
        release_line(event)
        opened = opened + 1
      elseif most > 0 and not find_job(event) and redis.call('HEXISTS', lines, event) == 0 then
        missing[#missing + 1] = event
      end
    end
  end
  if most > 0 and (#only == 0 or lines_too) then
    local release_one = #only == 0 and release or release_line
    for _, event in ipairs(redis.call('ZRANGE', held, 0, most + 19)) do
      if released >= most then break end
      if redis.call('ZSCORE', held, event) then release_one(event) end
    end
  end
  local last = redis.call('HGET', lines, WOKEN) or wakes_lines and ''
  local has_more_lines = last and wake_some_lines(last)
  local lane, job_of_lane = lane_of(shard, endpoint), shard.base .. lane_job(endpoint)
  local of_lane, left = redis.call('EXISTS', lane, job_of_lane), redis.call('ZCARD', held)
  if of_lane == 1 and redis.call('EXISTS', lane) == 1 then restore_job(endpoint) end
  local has_lane = of_lane > 0
  count_with_lane(shard, address)
  if wakes_lines then left = left + redis.call('ZCARD', grouped_of(shard, endpoint)) end
  if has_more_lines then left = left + 1 end
  -- There may be more lines than were asked for.
  left = left + opened
  local waits_for_more = has_lane and redis.call('HEXISTS', shard.base .. lane_job(endpoint), jobFields.fullAt) == 1
  if waits_for_more and not due then
    has_lane = false
  elseif has_lane and may_go and wake_lane(shard, account, endpoint) then
    released = released + 1
  elseif has_lane and redis.call('LPOS', shard.active, lane_job(endpoint)) then
    left, is_busy = left + 1, true
  elseif has_lane and redis.call('ZSCORE', shard.delayed, lane_job(endpoint)) then
    left = left + 1
  end
  if left > 0 then
    local next_at = (is_busy or has_more_lines) and soon_at or again_at
    redis.call('ZADD', shard.wake_ups, is_unchanged and 'CH' or 'LT', next_at, address)
  elseif is_unchanged then
    redis.call('ZREM', shard.wake_ups, address)
  end
  return reply { released = released, left = left, missing = missing, has_more_lines = has_more_lines }
end

---@key base                    the prefix of the jobs' keys
---@param event EventId
---@param address text           of the endpoint
function forget_held(base, event, address)
  local shard = shard_of(base)
  if redis.call('ZREM', held_of(shard, id_in(address)), event) == 0 then return end
  count_with_lane(shard, address)
end

---@key base                    the prefix of the jobs' keys
---@param now digits
---@param most digits
---@param again_at digits         when they are due again
---@return text[]
function claim_due_wake_ups(base, now, most, again_at)
  local shard = shard_of(base)
  local due = redis.call('ZRANGEBYSCORE', shard.wake_ups, '-inf', now, 'LIMIT', 0, most)
  for _, endpoint in ipairs(due) do
    redis.call('ZADD', shard.wake_ups, again_at, endpoint)
  end
  return due
end

--- Call it after entries were removed without a release.
---@key base                    the prefix of the jobs' keys
---@param address text           of the endpoint
function recount_held(base, address)
  count_with_lane(shard_of(base), address)
end
