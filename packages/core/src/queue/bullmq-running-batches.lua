---@include ../platform/redis-time.lua
---@include ./fair-order.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@include ./bullmq-batches.lua
---@const DELAYED_SCORE, jobFields ./bullmq-layout
---@type JobKeys ./bullmq-layout

-- What a worker does with batches: each script does nothing if the job is not the worker's any more.

--- Makes some deliveries a batch: the name is that of the first one, unless a batch that it was in still has that.
local function store_batch(base, tag, endpoint, data, events, now, priority)
  local name = events[1]
  while redis.call('EXISTS', base .. batch_job(name, endpoint)) == 1 do
    name = name .. '+'
  end
  local id, index = batch_job(name, endpoint), {}
  local members = table.concat(events, ' ')
  store_job(base .. id, data, now, priority, jobFields.members, members, jobFields.attemptsStarted, 1)
  for i, event in ipairs(events) do
    index[2 * i - 1], index[2 * i] = event, name
  end
  redis.call('HSET', batches_of(tag, endpoint), unpack(index))
  return id
end

--- The first deliveries of a lane, or one alone, each with its place behind it.
local function first_in(lane, most, only)
  if not only then return redis.call('ZRANGE', lane, 0, most - 1, 'WITHSCORES') end
  local place = redis.call('ZSCORE', lane, only)
  return place and { only, place } or {}
end

local function keep_requests(key, events, requests)
  for i, event in ipairs(events) do
    if requests[i] then redis.call('HSET', key, 'request ' .. event, requests[i], 'carries', '1') end
  end
end

--- The first deliveries of a lane become a batch, which the worker has in place of the lane. The lane goes on at its place in the fair
--- order. Gives nothing if the lane is not the worker's any more, or is empty.
---@with jobs JobKeys
---@with shard ShardKeys
---@key active = jobs.active
---@key stalled = jobs.stalled
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key marker = jobs.marker
---@key counts = shard.heldCounts
---@key counted = shard.countedAsHeld
---@key behind_heads = shard.behindHeads
---@key weights = shard.accountWeights
---@key order_state                of the fair order
---@param base text
---@param tag text
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
---@reply breaker text?
---@reply endpoint_text shared?
---@reply events EventId[]
---@reply logs text?[]             of each
---@reply texts text?[]            of each event
---@reply requests text?[]         for which each is to be sent
---@reply places integer[]         of each in the lane
function form_batch(
  active,
  stalled,
  prioritized,
  counter,
  meta,
  marker,
  counts,
  counted,
  behind_heads,
  weights,
  order_state,
  base,
  tag,
  token,
  account,
  endpoint,
  was_held,
  most,
  only,
  max_bytes,
  now,
  lock_ms,
  reads_texts
)
  local lane_id, lane = lane_job(endpoint), lane_of(tag, endpoint)
  if redis.call('GET', base .. lane_id .. ':lock') ~= token then
    return reply { events = {}, logs = {}, texts = {}, requests = {}, places = {} }
  end
  local first, waiting, places, place_of = first_in(lane, most, only), {}, {}, {}
  for i = 1, #first, 2 do
    waiting[#waiting + 1], place_of[first[i]] = first[i], tonumber(first[i + 1])
  end
  if #waiting == 0 then return reply { events = {}, logs = {}, texts = {}, requests = {}, places = {} } end
  local events, texts = that_fit(waiting, account, max_bytes, reads_texts)
  set_in_batches(base .. lane_id, lane, behind_heads, true)
  redis.call('ZREM', lane, unpack(events))
  local fields = redis.call('HMGET', base .. lane_id, 'carries', jobFields.holds, jobFields.data)
  local requests = {}
  if fields[1] then
    requests = redis.call('HMGET', carried_of(tag, endpoint), unpack(events))
    redis.call('HDEL', carried_of(tag, endpoint), unpack(events))
  end
  local id = store_batch(base, tag, endpoint, fields[3], events, now, 0)
  redis.call('HSET', base .. id, 'processedOn', now)
  if fields[2] then redis.call('HSET', base .. id, jobFields.holds, fields[2]) end
  keep_requests(base .. id, events, requests)
  let_go(base, active, stalled, { lane_id }, { token })
  redis.call('LPUSH', active, id)
  redis.call('SET', base .. id .. ':lock', token, 'PX', lock_ms)
  local queue = queue_of(base, prioritized, counter, meta, active, marker)
  go_on(queue, tag, order_state, weights, counts, counted, behind_heads, account, endpoint, #events, was_held)
  for i, event in ipairs(events) do
    places[i] = place_of[event]
  end
  return reply {
    job = id,
    breaker = reads_texts and redis.call('GET', keys.breaker(endpoint)),
    endpoint_text = reads_texts and read_once('HGET', keys.endpoints(account), endpoint),
    events = events,
    logs = read_logs(events, endpoint, reads_texts),
    texts = texts,
    requests = requests,
    places = places,
  }
end

--- In an order, gives the first deliveries of a lane, which stay there: the turn of the first one begins. Those that went together
--- before go together again. Of others, which go with the first one is noted once it is known. While queues are split again the head
--- goes alone, whatever it went with: nobody has looked whether another shard has those behind it.
---@with shard ShardKeys
---@key lock                       of the lane's job
---@key behind_heads = shard.behindHeads
---@param base text
---@param tag text
---@param token text               what that is locked with
---@param account AccountId
---@param name text                of the lane
---@param most integer
---@param only EventId?            the head, if it goes alone
---@param max_bytes integer        of the texts of their events
---@param reads_texts boolean      what the attempts need
---@reply breaker text?
---@reply endpoint_text shared?
---@reply events EventId[]
---@reply logs text?[]             of each
---@reply texts text?[]            of each event
---@reply requests text?[]         for which each is to be sent
---@reply places integer[]         of each in the lane
function begin_heads(lock, behind_heads, base, tag, token, account, name, most, only, max_bytes, reads_texts)
  if redis.call('GET', lock) ~= token then
    return reply { events = {}, logs = {}, texts = {}, requests = {}, places = {} }
  end
  local key, lane, endpoint = base .. lane_job(name), lane_of(tag, name), endpoint_of(name)
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
  if #events == 0 then return reply { events = {}, logs = {}, texts = {}, requests = {}, places = {} } end
  set_in_batches(key, lane, behind_heads, false)
  redis.call('HSET', key, 'head', events[1], jobFields.members, go_again and table.concat(events, ' ') or events[1])
  local places = redis.call('ZMSCORE', lane, unpack(events))
  for i, place in ipairs(places) do
    places[i] = tonumber(place)
  end
  local requests = fields[3] and redis.call('HMGET', carried_of(tag, name), unpack(events)) or {}
  return reply {
    breaker = reads_texts and redis.call('GET', keys.breaker(endpoint)),
    endpoint_text = reads_texts and read_once('HGET', keys.endpoints(account), endpoint),
    events = events,
    logs = read_logs(events, endpoint, reads_texts),
    texts = texts,
    requests = requests,
    places = places,
  }
end

--- In an order, these are about to go in one request: they stay the first ones of their lane, and together, until they have ended.
--- Nothing is noted if others are between them, which have come since the lane was read.
---@key lock                       of the lane's job
---@param base text
---@param tag text
---@param token text               what that is locked with
---@param name text                of the lane
---@param events EventId[]         in order
---@param read EventId[]           the first ones as they were read, those that do not go too
---@return boolean                 whether they go together
function keep_heads_together(lock, base, tag, token, name, events, read)
  if redis.call('GET', lock) ~= token then return true end
  local lane, was_read = lane_of(tag, name), {}
  for _, event in ipairs(read) do
    was_read[event] = true
  end
  local last = redis.call('ZRANK', lane, events[#events])
  if not last then return false end
  for _, event in ipairs(redis.call('ZRANGE', lane, 0, last)) do
    if not was_read[event] then return false end
  end
  redis.call('HSET', base .. lane_job(name), 'head', events[1], jobFields.members, table.concat(events, ' '))
  return true
end

local function put_off(queue, delayed, id, due_at, delay)
  redis.call('HSET', queue.base .. id, 'delay', delay)
  local lowest = due_at * DELAYED_SCORE
  local highest = lowest + DELAYED_SCORE - 1
  local last = redis.call('ZREVRANGEBYSCORE', delayed, highest, lowest, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  redis.call('ZADD', delayed, last and math.min(tonumber(last) + 1, highest) or lowest, id)
  at_end('first delayed of ' .. queue.base, function()
    if redis.call('EXISTS', queue.wait, queue.prioritized) == 1 then return end
    local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
    if first then redis.call('ZADD', queue.marker, tonumber(first) / DELAYED_SCORE, '1') end
  end)
end

--- The first deliveries of a lane in an order were in one request. Those that have ended leave it. The others go together again;
--- if there are none, the lane goes on. Stops if the lane is not the worker's any more.
---@guard
---@with jobs JobKeys
---@with shard ShardKeys
---@key wait = jobs.wait
---@key delayed = jobs.delayed
---@key active = jobs.active
---@key stalled = jobs.stalled
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key marker = jobs.marker
---@key counts = shard.heldCounts
---@key counted = shard.countedAsHeld
---@key behind_heads = shard.behindHeads
---@key weights = shard.accountWeights
---@key order_state                of the fair order
---@param base text
---@param tag text
---@param token text               what its job is locked with
---@param account AccountId
---@param name text                of the lane
---@param ended EventId[]
---@param left EventId[]           in order
---@param due_at integer           of those that are left
---@param delay digits
---@param failure text?            why their attempt failed; absent: there was none
function end_heads(
  wait,
  delayed,
  active,
  stalled,
  prioritized,
  counter,
  meta,
  marker,
  counts,
  counted,
  behind_heads,
  weights,
  order_state,
  base,
  tag,
  token,
  account,
  name,
  ended,
  left,
  due_at,
  delay,
  failure
)
  local id, lane = lane_job(name), lane_of(tag, name)
  local key = base .. id
  if #let_go(base, active, stalled, { id }, { token }) == 0 then return stop() end
  local queue = { base = base, wait = wait, prioritized = prioritized, counter = counter, meta = meta }
  queue.active, queue.marker = active, marker
  -- Maybe only since this run.
  local closed = line_in(name) and redis.call('HGET', key, 'closed')
  local is_held = not line_in(name) and redis.call('HEXISTS', key, jobFields.holds) == 1
  if closed and #left == 0 then
    count_behind(behind_heads, open_line(key, counts, counted, tag, account, name, closed))
  end
  local gone = remove_entries(tag, name, ended)
  if #left == 0 then
    go_on(queue, tag, order_state, weights, counts, counted, behind_heads, account, name, gone, is_held)
    return reply()
  end
  if is_held and failure then
    reopen(key, lane, tag, counts, counted, behind_heads, account, name)
  elseif is_held then
    count_lane_held(counts, counted, tag, account, name)
  elseif closed then
    if gone > 0 then leave_closed(key, counts, counted, tag, account, name, closed, gone) end
  else
    count_behind(behind_heads, -gone, redis.call('HEXISTS', key, jobFields.inBatches) == 1)
  end
  redis.call('DEL', key .. ':lock')
  redis.call('HSET', key, 'head', left[1], jobFields.members, table.concat(left, ' '))
  if failure then
    redis.call('HSET', key, jobFields.failedReason, failure)
    redis.call('HINCRBY', key, jobFields.attemptsMade, 1)
  end
  put_off(queue, delayed, id, due_at, delay)
  return reply()
end

--- A worker is done with a batch. Those that have ended are gone. The same members are put off as they are; some of them become
--- batches, or get jobs of their own. Stops if the batch is not the worker's any more.
---@guard
---@with jobs JobKeys
---@with shard ShardKeys
---@key wait = jobs.wait
---@key delayed = jobs.delayed
---@key active = jobs.active
---@key stalled = jobs.stalled
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key marker = jobs.marker
---@key weights = shard.accountWeights
---@key order_state                of the fair order
---@param base text
---@param tag text
---@param job text
---@param token text               what it is locked with
---@param account AccountId
---@param endpoint EndpointId
---@param events EventId[]         all of it, group by group
---@param groups {becomes 'ended'|'batch'|'jobs', due_at integer, delay digits, failure text?, count integer}[]  each of so many of the events. Jobs of those that have failed for good fail by themselves when they are taken
function end_batch(
  wait,
  delayed,
  active,
  stalled,
  prioritized,
  counter,
  meta,
  marker,
  weights,
  order_state,
  base,
  tag,
  job,
  token,
  account,
  endpoint,
  events,
  groups
)
  if #let_go(base, active, stalled, { job }, { token }) == 0 then return stop() end
  local key, index, first = base .. job, batches_of(tag, endpoint), groups[1]
  local queue = { base = base, wait = wait, prioritized = prioritized, counter = counter, meta = meta }
  queue.active, queue.marker = active, marker
  redis.call('DEL', key .. ':lock')
  if #groups == 1 and first.becomes == 'batch' then
    if first.failure then
      redis.call('HSET', key, jobFields.failedReason, first.failure)
      redis.call('HINCRBY', key, jobFields.attemptsMade, 1)
    end
    put_off(queue, delayed, job, first.due_at, first.delay)
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
      local id = store_batch(base, tag, endpoint, fields[1], some, now, 1)
      if fields[2] then redis.call('HSET', base .. id, jobFields.holds, fields[2]) end
      if group.failure then
        redis.call('HSET', base .. id, jobFields.failedReason, group.failure, jobFields.attemptsMade, 1)
      end
      keep_requests(base .. id, some, asked)
      put_off(queue, delayed, id, group.due_at, group.delay)
    else
      redis.call('HDEL', index, unpack(some))
      if group.becomes == 'jobs' then
        add_own_jobs(queue, tag, order_state, weights, account, endpoint, some, asked, fields[2], group.failure)
      end
    end
  end
  redis.call('DEL', key)
  return reply()
end

--- As many are in the lane, which was just put off, as it waits for: it goes on.
---@with jobs JobKeys
---@with shard ShardKeys
---@key delayed = jobs.delayed
---@key prioritized = jobs.prioritized
---@key counter = jobs.priorityCounter
---@key meta = jobs.meta
---@key active = jobs.active
---@key marker = jobs.marker
---@key events = jobs.events
---@key weights = shard.accountWeights
---@key order_state                of the fair order
---@param base text
---@param tag text
---@param account AccountId
---@param name text                of the lane
function wake_full_lane(
  delayed,
  prioritized,
  counter,
  meta,
  active,
  marker,
  events,
  weights,
  order_state,
  base,
  tag,
  account,
  name
)
  local lane = open_lane(base, tag, account, name)
  local queue = queue_of(base, prioritized, counter, meta, active, marker, events)
  local priority_of, finish = fair_order(prioritized, order_state, weights)
  if go_on_if_full(lane, queue, delayed, priority_of) then finish() end
end

--- Nothing is left to send of a delivery: it leaves its batch, if no worker runs that.
---@with jobs JobKeys
---@key delayed = jobs.delayed
---@key failed = jobs.failed
---@key prioritized = jobs.prioritized
---@param base text
---@param tag text
---@param endpoint EndpointId
---@param event EventId
---@return boolean                 whether a worker runs it
function drop_from_batch(delayed, failed, prioritized, base, tag, endpoint, event)
  local id = batch_job_of(tag, endpoint, event)
  if not id then return false end
  local key, left = base .. id, {}
  if redis.call('EXISTS', key .. ':lock') == 1 then return true end
  for _, other in ipairs(events_in(redis.call('HGET', key, jobFields.members))) do
    if other ~= event then left[#left + 1] = other end
  end
  redis.call('HDEL', batches_of(tag, endpoint), event)
  if #left > 0 then
    redis.call('HSET', key, jobFields.members, table.concat(left, ' '))
    return false
  end
  local is_idle = redis.call('ZREM', delayed, id) + redis.call('ZREM', failed, id) + redis.call('ZREM', prioritized, id)
  if is_idle > 0 then redis.call('DEL', key) end
  return false
end
