---@include ../platform/redis-time.lua
---@include ./bullmq-shard.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@include ./bullmq-batches.lua
---@const jobFields ./bullmq-layout

-- What a worker does with batches: each script does nothing if the job is not the worker's any more.

--- Makes some deliveries a batch: the name is that of the first one, unless a batch that it was in still has that.
local function store_batch(shard, endpoint, data, events, now, priority)
  local name = events[1]
  while redis.call('EXISTS', shard.base .. batch_job(name, endpoint)) == 1 do
    name = name .. '+'
  end
  local id, index = batch_job(name, endpoint), {}
  local members = table.concat(events, ' ')
  store_job(shard.base .. id, data, now, priority, jobFields.members, members, jobFields.attemptsStarted, 1)
  for i, event in ipairs(events) do
    index[2 * i - 1], index[2 * i] = event, name
  end
  redis.call('HSET', batches_of(shard, endpoint), unpack(index))
  return id
end

--- The first deliveries of a lane, or one alone. Gives their events, and their places.
local function first_in(lane, most, only)
  local flat = not only and redis.call('ZRANGE', lane, '0', most - 1, 'WITHSCORES')
  if flat then return entries_in(flat) end
  local place = redis.call('ZSCORE', lane, only)
  return place and { only } or {}, { tonumber(place) }
end

local function keep_requests(key, events, requests)
  for i, event in ipairs(events) do
    if requests[i] then redis.call('HSET', key, 'request ' .. event, requests[i], 'carries', '1') end
  end
end

--- The first deliveries of a lane become a batch, which the worker has in place of the lane. The lane goes on at its place in the fair
--- order. Gives nothing if the lane is not the worker's any more, or is empty.
---@key base                    the prefix of the jobs' keys
---@param token text               what the lane's job is locked with, and then the batch's
---@param account AccountId
---@param endpoint EndpointId
---@param was_held boolean
---@param most integer
---@param only EventId?            it alone
---@param max_bytes integer        of the texts of their events
---@param now digits
---@param lock_ms digits
---@param reads_texts boolean      what the attempts need
---@reply job text?
---@reply members batch_members?
function form_batch(base, token, account, endpoint, was_held, most, only, max_bytes, now, lock_ms, reads_texts)
  local shard = shard_of(base)
  local lane_id, lane = lane_job(endpoint), lane_of(shard, endpoint)
  if not is_locked_with(shard, lane_id, token) then return reply {} end
  local waiting, places = first_in(lane, most, only)
  if #waiting == 0 then return reply {} end
  local events, texts = that_fit(waiting, account, max_bytes, reads_texts)
  set_in_batches(shard, endpoint, true)
  redis.call('ZREM', lane, unpack(events))
  local fields = redis.call('HMGET', shard.base .. lane_id, 'carries', jobFields.holds, jobFields.data)
  local requests = {}
  if fields[1] then
    requests = redis.call('HMGET', carried_of(shard, endpoint), unpack(events))
    redis.call('HDEL', carried_of(shard, endpoint), unpack(events))
  end
  local id = store_batch(shard, endpoint, fields[3], events, now, 0)
  redis.call('HSET', shard.base .. id, 'processedOn', now)
  if fields[2] then redis.call('HSET', shard.base .. id, jobFields.holds, fields[2]) end
  keep_requests(shard.base .. id, events, requests)
  let_go(shard, { lane_id }, { token })
  redis.call('LPUSH', shard.active, id)
  redis.call('SET', shard.base .. id .. ':lock', token, 'PX', lock_ms)
  go_on(shard, account, endpoint, #events, was_held)
  local members = read_members(account, endpoint, events, texts, requests, places, reads_texts)
  return reply { job = id, members = members }
end

--- In an order, gives the first deliveries of a lane, which stay there: the turn of the first one begins. Those that went together
--- before go together again. Of others, which go with the first one is noted once it is known. While queues are split again the head
--- goes alone, whatever it went with: nobody has looked whether another shard has those behind it.
---@key base                    the prefix of the jobs' keys
---@param token text               what that is locked with
---@param account AccountId
---@param name text                of the lane
---@param most integer
---@param only EventId?            the head, if it goes alone
---@param max_bytes integer        of the texts of their events
---@param reads_texts boolean      what the attempts need
---@reply members batch_members?
function begin_heads(base, token, account, name, most, only, max_bytes, reads_texts)
  local shard = shard_of(base)
  if not is_locked_with(shard, lane_job(name), token) then return reply {} end
  local key, lane, endpoint = shard.base .. lane_job(name), lane_of(shard, name), endpoint_of(name)
  local fields, waiting = redis.call('HMGET', key, 'head', jobFields.members, 'carries'), {}
  local former = only and { only } or fields[1] and events_in(fields[2]) or {}
  if #former > 0 then
    for i, place in ipairs(redis.call('ZMSCORE', lane, unpack(former))) do
      if place then waiting[#waiting + 1] = former[i] end
    end
  end
  local events, texts
  local go_again = only or #waiting > 0 and waiting[1] == fields[1]
  if go_again then
    events, texts = that_fit(waiting, account, math.huge, reads_texts)
  else
    events, texts = that_fit(redis.call('ZRANGE', lane, 0, most - 1), account, max_bytes, reads_texts)
  end
  if #events == 0 then return reply {} end
  set_in_batches(shard, name, false)
  redis.call('HSET', key, 'head', events[1], jobFields.members, go_again and table.concat(events, ' ') or events[1])
  local places = redis.call('ZMSCORE', lane, unpack(events))
  for i, place in ipairs(places) do
    places[i] = tonumber(place)
  end
  local requests = fields[3] and redis.call('HMGET', carried_of(shard, name), unpack(events)) or {}
  return reply { members = read_members(account, endpoint, events, texts, requests, places, reads_texts) }
end

--- In an order, these are about to go in one request: they stay the first ones of their lane, and together, until they have ended.
--- Nothing is noted if others are between them, which have come since the lane was read.
---@key base                    the prefix of the jobs' keys
---@param token text               what that is locked with
---@param name text                of the lane
---@param events EventId[]         in order
---@param read EventId[]           the first ones as they were read, those that do not go too
---@return boolean                 whether they go together
function keep_heads_together(base, token, name, events, read)
  local shard = shard_of(base)
  if not is_locked_with(shard, lane_job(name), token) then return true end
  local lane, was_read = lane_of(shard, name), {}
  for _, event in ipairs(read) do
    was_read[event] = true
  end
  local last = redis.call('ZRANK', lane, events[#events])
  if not last then return false end
  for _, event in ipairs(redis.call('ZRANGE', lane, 0, last)) do
    if not was_read[event] then return false end
  end
  redis.call('HSET', shard.base .. lane_job(name), 'head', events[1], jobFields.members, table.concat(events, ' '))
  return true
end

--- The first deliveries of a lane in an order were in one request. Those that have ended leave it. The others go together again;
--- if there are none, the lane goes on. Stops if the lane is not the worker's any more.
---@guard
---@key base                    the prefix of the jobs' keys
---@param token text               what its job is locked with
---@param account AccountId
---@param name text                of the lane
---@param ended EventId[]
---@param left EventId[]           in order
---@param due_at integer           of those that are left
---@param delay digits
---@param failure text?            why their attempt failed; absent: there was none
function end_heads(base, token, account, name, ended, left, due_at, delay, failure)
  local shard = shard_of(base)
  local id = lane_job(name)
  local key = shard.base .. id
  if #let_go(shard, { id }, { token }) == 0 then return stop() end
  -- Maybe only since this run.
  local closed = line_in(name) and redis.call('HGET', key, 'closed')
  local is_held = not line_in(name) and redis.call('HEXISTS', key, jobFields.holds) == 1
  if closed and #left == 0 then open_line(shard, account, name, closed) end
  local gone = remove_entries(shard, name, ended)
  if #left == 0 then
    go_on(shard, account, name, gone, is_held)
    return reply()
  end
  if is_held and failure then
    reopen(shard, account, name)
  elseif is_held then
    count_lane_held(shard, account, name)
  elseif closed then
    if gone > 0 then leave_closed(shard, account, name, closed, gone) end
  else
    count_behind(shard, -gone, redis.call('HEXISTS', key, jobFields.inBatches) == 1)
  end
  redis.call('DEL', key .. ':lock')
  redis.call('HSET', key, 'head', left[1], jobFields.members, table.concat(left, ' '))
  put_off(shard, id, due_at, delay, failure)
  return reply()
end

--- A worker is done with a batch. Those that have ended are gone. The same members are put off as they are; some of them become
--- batches, or get jobs of their own. Stops if the batch is not the worker's any more.
---@guard
---@key base                    the prefix of the jobs' keys
---@param job text
---@param token text               what it is locked with
---@param account AccountId
---@param endpoint EndpointId
---@param events EventId[]         all of it, group by group
---@param groups {becomes 'ended'|'batch'|'jobs', due_at integer, delay digits, failure text?, count integer}[]  each of so many of the events. Jobs of those that have failed for good fail by themselves when they are taken
function end_batch(base, job, token, account, endpoint, events, groups)
  local shard = shard_of(base)
  if #let_go(shard, { job }, { token }) == 0 then return stop() end
  local key, index, first = shard.base .. job, batches_of(shard, endpoint), groups[1]
  redis.call('DEL', key .. ':lock')
  if #groups == 1 and first.becomes == 'batch' then
    put_off(shard, job, first.due_at, first.delay, first.failure)
    return reply()
  end
  if #groups == 1 and first.becomes == 'ended' then
    redis.call('HDEL', index, unpack(events))
    redis.call('DEL', key)
    return reply()
  end
  local fields = redis.call('HMGET', key, jobFields.data, jobFields.holds, 'carries')
  local requests = fields[3] and redis.call('HMGET', key, unpack(request_fields(events))) or {}
  local now, begun = string.format('%d', time_now()), 0
  for _, group in ipairs(groups) do
    local some, asked = {}, {}
    for i = 1, group.count do
      some[i], asked[i] = events[begun + i], requests[begun + i]
    end
    begun = begun + group.count
    if group.becomes == 'batch' then
      local id = store_batch(shard, endpoint, fields[1], some, now, 1)
      if fields[2] then redis.call('HSET', shard.base .. id, jobFields.holds, fields[2]) end
      keep_requests(shard.base .. id, some, asked)
      put_off(shard, id, group.due_at, group.delay, group.failure)
    else
      redis.call('HDEL', index, unpack(some))
      if group.becomes == 'jobs' then add_own_jobs(shard, account, endpoint, some, asked, fields[2], group.failure) end
    end
  end
  redis.call('DEL', key)
  return reply()
end

--- As many are in the lane, which was just put off, as it waits for: it goes on.
---@key base                    the prefix of the jobs' keys
---@param account AccountId
---@param name text                of the lane
function wake_full_lane(base, account, name)
  local shard = shard_of(base)
  go_on_if_full(shard, open_lane(shard, account, name))
end
