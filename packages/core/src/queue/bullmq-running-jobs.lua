---@include ./bullmq-shard.lua
---@include ./bullmq-put-back.lua
---@include ./bullmq-own-jobs.lua
---@include ./bullmq-lanes.lua
---@include ./bullmq-oldest-events.lua
---@include ./bullmq-batches.lua
---@const DELAYED_SCORE, jobFields ./bullmq-layout
---@record attempt_texts {log text?, breaker text?, endpoint shared?, event shared?, is_event_known boolean}
---@record former_runs {attempts_made text?, stalled_count text?, deferred_failure text?, failed_reason text?, stacktrace text?, holds text?, members text?}
---@record head_record {event EventId?, place integer, turn 'first'|'behind_event'|'behind_job'|'unknown', is_beside_jobs boolean, had_begun boolean, has_waited boolean, is_in_batches boolean, request text?, sent text?}
---@record job_record {id text, attempts_started integer, name text?, data text?, opts text?, timestamp text?, delay text?, priority text?, former former_runs?, texts attempt_texts?, head head_record?, batch batch_members?}

--- The records that the attempt of a job needs. Nil: it is no delivery's.
local function read_texts(job, account, known)
  local event, endpoint = string.match(job, '^(.*)%.([^.]*)$')
  if not event or not account then return end
  local texts = redis.call('MGET', keys.delivery(endpoint, event), keys.breaker(endpoint))
  return attempt_texts {
    log = texts[1],
    breaker = texts[2],
    endpoint = read_once('HGET', keys.endpoints(account), endpoint),
    event = event ~= known and read_once('GET', keys.event(account, event)),
    is_event_known = event == known,
  }
end

--- Of any job the first seven, of a lane's all.
local TAKEN_FIELDS = {
  jobFields.attemptsStarted,
  jobFields.name,
  jobFields.data,
  'opts',
  jobFields.timestamp,
  'delay',
  'priority',
  'head',
  jobFields.hasWaited,
  'carries',
  'closed',
  'sent',
  jobFields.inBatches,
  jobFields.members,
}

--- What BullMQ keeps of the runs of a job. Only one that ran before has any of it, and a field that is missing costs Redis the most.
local function runs_before(key)
  local fields = redis.call(
    'HMGET',
    key,
    jobFields.attemptsMade,
    jobFields.stalledCount,
    jobFields.deferredFailure,
    jobFields.failedReason,
    jobFields.stacktrace,
    jobFields.holds,
    jobFields.members
  )
  return former_runs {
    attempts_made = fields[1],
    stalled_count = fields[2],
    deferred_failure = fields[3],
    failed_reason = fields[4],
    stacktrace = fields[5],
    holds = fields[6],
    members = fields[7],
  },
    fields[7]
end

--- What the attempts of a batch's deliveries need.
local function read_batch(key, endpoint, account, text, reads_texts)
  local events = events_in(text)
  if #events == 0 then return batch_members {} end
  local _, texts = that_fit(events, account, math.huge, reads_texts)
  local requests = redis.call('HEXISTS', key, 'carries') == 1
    and redis.call('HMGET', key, unpack(request_fields(events)))
  return read_members(account, endpoint, events, texts, requests, {}, reads_texts)
end

--- The first one that has a job of its own beside a lane, with its place. Mostly none of an endpoint's groups has one.
local function first_beside(endpoint, line)
  local order = keys.order(endpoint)
  if not line then return redis.call('ZRANGE', order, '0', '0', 'WITHSCORES') end
  local lanes = keys.lanes(endpoint)
  if once[lanes] == nil then once[lanes] = redis.call('EXISTS', lanes) == 1 end
  return once[lanes] and redis.call('ZRANGE', order .. ':' .. line, '0', '0', 'WITHSCORES') or {}
end

--- Whose turn it is in a lane whose job is taken. One whose turn has begun keeps it. Another one has to be the oldest: of the events
--- that are still to be fanned out, and of the deliveries in order that have jobs of their own beside the lane. The lane is open from
--- now on.
---
--- `stays` tells the first one, if it is known. `looks`: whether all that it may have to wait for is here.
local function take_head(shard, jobs_of_events, lane, account, known, stays, looks)
  local began, has_waited, carries, closed, sent, is_in_batches = unpack(known)
  local key, line, endpoint = lane_of(shard, lane), line_in(lane), endpoint_of(lane)
  if closed then open_line(shard, account or '', lane, closed) end
  if stays then
    count_behind(shard, -1, is_in_batches)
    began, has_waited = nil, true
  end
  local place = began and redis.call('ZSCORE', key, began)
  local event, turn, former = place and began, 'first', nil
  if stays then
    event, place, turn = stays.event, stays.place, 'unknown'
  elseif not event then
    local first = redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')
    event, place, turn = first[1], first[2], 'unknown'
  end
  looks = looks and not is_in_batches
  if looks then former = first_beside(endpoint, line) end
  if event and looks and turn == 'unknown' then
    local at, first_at = tonumber(place), tonumber(former[2])
    local is_other = first_at and former[1] ~= event
    if is_other and (first_at < at or first_at == at and former[1] < event) then
      turn = 'behind_job'
    elseif account and not is_oldest(shard_of(jobs_of_events), account, event, at, account .. '.' .. event) then
      turn = 'behind_event'
    else
      turn = 'first'
    end
  end
  return head_record {
    event = event,
    place = tonumber(place or 0),
    turn = turn,
    -- Not known where it was not looked for.
    is_beside_jobs = not former or former[1] ~= nil,
    had_begun = event and event == began,
    has_waited = has_waited and true,
    is_in_batches = is_in_batches and true,
    request = event and carries and redis.call('HGET', carried_of(shard, lane), event),
    sent = sent,
  },
    event,
    turn
end

--- As BullMQ's own moveToActive: without its rate limiter, which nothing here sets, and without entries in its stream of events,
--- which nobody reads. Jobs without a priority come first. Workers that rest are woken if more jobs wait in the end: scripts of
--- the same turn may add some after the last one was taken.
---@key base                    the prefix of the jobs' keys
---@param now digits
---@param token text              what the job is locked with
---@param lock_ms digits          how long the lock holds
---@param known EventId?          an event that the worker knows
---@param reads_texts boolean     what the attempt needs
---@param jobs_of_events text?    the prefix of the jobs of all events; absent: they are not in one place here
---@reply job job_record?
---@reply are_more_waiting boolean
---@reply next_due_at integer     when the first delayed job is due, if no more are waiting; 0: there is none
function take_job(base, now, token, lock_ms, known, reads_texts, jobs_of_events)
  local shard = shard_of(base)
  look_at_queue(shard, now)
  local stays = shard.stays
  local job = stays and stays.job
  shard.stays = nil
  if not job then
    if shard.is_paused or (shard.most_active and redis.call('LLEN', shard.active) >= shard.most_active) then
      return reply {}
    end
    if shard.unsorted > 0 then
      job = redis.call('RPOPLPUSH', shard.wait, shard.active)
      shard.unsorted = shard.unsorted - 1
    end
  end
  if not job then
    job = redis.call('ZPOPMIN', shard.prioritized)[1]
    shard.sorted = shard.sorted - 1
    if job then redis.call('LPUSH', shard.active, job) end
  end
  local are_more_waiting = shard.unsorted > 0 or shard.sorted > 0
  at_end('marker ' .. shard.base, function()
    if redis.call('EXISTS', shard.wait, shard.prioritized) > 0 then
      redis.call('ZADD', shard.marker, 0, '0')
    else
      redis.call('ZREM', shard.marker, '0')
    end
  end)
  local next_due_at = 0
  if not are_more_waiting then
    if shard.next_due_at == nil then
      local first = redis.call('ZRANGE', shard.delayed, 0, 0, 'WITHSCORES')[2]
      shard.next_due_at = first and math.floor(tonumber(first) / DELAYED_SCORE) or false
    end
    next_due_at = shard.next_due_at
  end
  if not job then
    redis.call('DEL', shard.counter)
    return reply { next_due_at = next_due_at }
  end

  local key, lane = shard.base .. job, string.sub(job, 1, 5) == 'lane/' and string.sub(job, 6)
  redis.call('SET', key .. ':lock', token, 'PX', lock_ms)
  local fields = redis.call('HMGET', key, unpack(TAKEN_FIELDS, 1, lane and 14 or 7))
  local started, account = stays and 1 or (tonumber(fields[1]) or 0) + 1, account_in(fields[3])
  local head, event, turn
  if lane then
    local of_lane = { unpack(fields, 8, 14) }
    head, event, turn = take_head(shard, jobs_of_events, lane, account, of_lane, stays, reads_texts and jobs_of_events)
    -- A head that ran once has left nothing else. A field that is missing costs Redis the most.
    if stays and (fields[1] ~= '1' or of_lane[7] or turn ~= 'first') then forget_head(key, jobFields.holds) end
  end
  local changed = { 'processedOn', now, jobFields.attemptsStarted, started }
  if turn == 'first' then
    changed[#changed + 1], changed[#changed + 2] = 'head', event
  end
  if stays then
    changed[#changed + 1], changed[#changed + 2] = jobFields.waitingSince, stays.place
    changed[#changed + 1], changed[#changed + 2] = jobFields.hasWaited, '1'
  end
  redis.call('HSET', key, unpack(changed))
  local delivery = lane and event and delivery_job(event, endpoint_of(lane)) or job
  local former, members
  if started > 1 then
    former, members = runs_before(key)
  end
  local batch_at = string.sub(job, 1, 6) == 'batch/' and string.match(job, '[^.]*$')
  return reply {
    job = job_record {
      id = job,
      attempts_started = started,
      name = fields[2],
      data = fields[3],
      opts = fields[4],
      timestamp = fields[5],
      delay = fields[6],
      priority = fields[7],
      former = former,
      texts = reads_texts and not batch_at and read_texts(delivery, account, known),
      head = head,
      batch = batch_at and read_batch(key, batch_at, account, members, reads_texts),
    },
    are_more_waiting = are_more_waiting,
    next_due_at = next_due_at,
  }
end

--- As BullMQ's own moveToFinished for jobs that are removed at their end. Stops if none of them is still the worker's.
---@guard
---@key base                    the prefix of the jobs' keys
---@param ids text[]
---@param tokens text[]           what each is locked with
function end_jobs(base, ids, tokens)
  local shard = shard_of(base)
  local ours, gone = let_go(shard, ids, tokens)
  if #ours == 0 then return stop() end
  for _, id in ipairs(ours) do
    gone[#gone + 1] = shard.base .. id
  end
  redis.call('DEL', unpack(gone))
  return reply()
end

--- As BullMQ's own moveToDelayed. Stops if none of them is still the worker's.
---
--- A lane is not put off behind a delivery that has become its first one meanwhile.
---@guard
---@key base                    the prefix of the jobs' keys
---@param due_at integer
---@param delay digits
---@param failure text?           why their attempts failed; absent: there were none
---@param turn_of EventId?         the head of a lane that gives up its turn
---@param ids text[]
---@param tokens text[]           what each is locked with
function delay_jobs(base, due_at, delay, failure, turn_of, ids, tokens)
  local shard = shard_of(base)
  local ours, own_locks = let_go(shard, ids, tokens)
  if turn_of and ours[1] and redis.call('ZRANGE', lane_of(shard, string.sub(ours[1], 6)), 0, 0)[1] ~= turn_of then
    due_at, delay = due_at - tonumber(delay), 0
  end
  for i, id in ipairs(ours) do
    local key = shard.base .. id
    redis.call('DEL', own_locks[i])
    if redis.call('EXISTS', key) == 1 then
      if turn_of then
        redis.call('HDEL', key, 'head')
        -- It may look for its turn for days. Its starts must not add up.
        redis.call('HSET', key, jobFields.attemptsStarted, 1)
      end
      put_off(shard, id, due_at, delay, failure)
    end
  end
  if #ours == 0 then return stop() end
  return reply()
end

--- Gives whether a job is still the worker's; if so, its lock holds for its full time again.
---@key base                    the prefix of the jobs' keys
---@param job text
---@param token text              what it is locked with
---@param lock_ms digits
---@return boolean
function keep_job(base, job, token, lock_ms)
  local shard = shard_of(base)
  if not is_locked_with(shard, job, token) then return false end
  redis.call('PEXPIRE', shard.base .. job .. ':lock', lock_ms)
  redis.call('SREM', shard.stalled, job)
  return true
end
