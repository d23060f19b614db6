---@include ./bullmq-running-jobs.lua
---@include ./redis-held-counts.lua
---@const DELAYED_SCORE, jobFields ./bullmq-layout
---@const DUE_WITHIN_MS ../domain/delivery
---@type JobKeys ./bullmq-layout
---@record batch_job {event EventId, attempts_started integer, stalled_count integer, data text, holds text?, log text?, event_text text?}

-- A batch is the deliveries that go in one request. Their jobs record it: each has the event of the primary delivery, whose job
-- has the events of all. So the record goes when the jobs do. A batch whose primary delivery has ended is none any more, and a
-- delivery that was put into another one since is in that alone.
--
-- `base` is the prefix of the jobs' keys, and `suffix` is that of the ids of an endpoint's jobs.

--- Gives the events of the batch that an event is in, and the primary one's event.
local function batch_of(base, event, suffix)
  local primary = redis.call('HGET', base .. event .. suffix, jobFields.batchPrimary)
  local batch = primary and redis.call('HGET', base .. primary .. suffix, jobFields.batchEvents)
  if batch and string.find(' ' .. batch .. ' ', ' ' .. event .. ' ', 1, true) then return batch, primary end
end

--- Takes the jobs that go together with one that runs. Those that were sent together with it before are taken wherever they wait,
--- unless they are due later. Else others are taken that are in no batch: as they are held, and then from the front of the queue.
--- These are recorded as a batch at once if all are taken: then nothing is left to do before they are sent. Taking one does what
--- `take_job` does.
---@with jobs JobKeys
---@key held
---@key counts
---@key counted
---@key prioritized = jobs.prioritized
---@key delayed = jobs.delayed
---@key active = jobs.active
---@key wait = jobs.wait
---@param base text
---@param suffix text
---@param address text            of the endpoint
---@param primary EventId         of the job that others are taken for
---@param most integer            to take
---@param max_bytes integer       of their events
---@param is_in_order boolean     only held ones are taken
---@param forms_batch boolean     those that are in no batch become one
---@param now digits
---@param token text              what they are locked with
---@param lock_ms digits          how long the locks hold
---@param reads_texts boolean     what the attempts need
---@reply sent_before text?       the events that were sent together with the primary one before, and that one
---@reply busy EventId[]          those that run: of these, or else of the held ones, as they may be on their way to that
---@reply breaker text?
---@reply endpoint_text shared?
---@reply jobs batch_job[]
function take_batch_jobs(
  held,
  counts,
  counted,
  prioritized,
  delayed,
  active,
  wait,
  base,
  suffix,
  address,
  primary,
  most,
  max_bytes,
  is_in_order,
  forms_batch,
  now,
  token,
  lock_ms,
  reads_texts
)
  local endpoint, account = string.sub(suffix, 2), nil
  local soon = (tonumber(now) + DUE_WITHIN_MS) * DELAYED_SCORE
  -- Of each that is taken, in the same order.
  local jobs, events, stored, starts, event_texts, logs = {}, {}, {}, {}, {}, {}
  local leaving = {}
  local room, is_full = max_bytes, false
  local sent_before, former_primary = batch_of(base, primary, suffix)

  -- From where it waits. The entry of one that is held stays while a worker is at it.
  local function remove(job, event)
    local score = redis.call('ZSCORE', delayed, job)
    if score then
      local may_go = redis.call('ZSCORE', held, event) or tonumber(score) <= soon
      if not may_go then return false end
      redis.call('ZREM', delayed, job)
    elseif redis.call('ZREM', prioritized, job) == 0 and redis.call('LREM', wait, 1, job) == 0 then
      return false
    end
    redis.call('ZREM', held, event)
    return true
  end

  -- Gives false if it is not to be taken, and nil if it can't be. Those in front of the queue leave it in the end.
  local function take(event, is_in_front)
    if event == primary or #jobs >= most or is_full then return false end
    local job = event .. suffix
    local fields = redis.call(
      'HMGET',
      base .. job,
      jobFields.attemptsStarted,
      jobFields.stalledCount,
      jobFields.data,
      jobFields.batchPrimary,
      jobFields.holds
    )
    local data, other_primary = fields[3], fields[4]
    account = account or data and string.match(data, '"account_id":"([%w_-]+)"')
    if not data or not account then return end
    if other_primary and not sent_before and batch_of(base, event, suffix) then return false end
    local text = reads_texts and redis.call('GET', keys.event(account, event))
    if text and #text > room and not sent_before then
      is_full = true
      return false
    end
    if is_in_front then
      leaving[#leaving + 1] = job
    elseif not remove(job, event) then
      return
    end
    room = room - (text and #text or 0)
    local i = #jobs + 1
    jobs[i], events[i], stored[i], event_texts[i] = job, event, fields, text
    starts[i] = (tonumber(fields[1]) or 0) + 1
    logs[i] = keys.delivery(endpoint, event)
    return true
  end

  local busy = {}
  local function take_or_note(event)
    if take(event) == nil and redis.call('LPOS', active, event .. suffix) then busy[#busy + 1] = event end
  end
  if sent_before then
    for event in string.gmatch(sent_before, '%S+') do
      local is_other = event ~= primary
        and redis.call('HGET', base .. event .. suffix, jobFields.batchPrimary) == former_primary
      if is_other then take_or_note(event) end
    end
  else
    for _, event in ipairs(redis.call('ZRANGE', held, 0, 2 * most + 19)) do
      if #jobs >= most or is_full then break end
      take_or_note(event)
    end
    -- Page by page, as long as half of a page are the endpoint's.
    local page_size, seen, enough = 50, 0, is_in_order
    while not enough and #jobs < most and not is_full do
      local page, own = redis.call('ZRANGE', prioritized, seen, seen + page_size - 1), 0
      for _, job in ipairs(page) do
        if string.sub(job, -#suffix) == suffix and string.sub(job, 1, 5) ~= 'lane/' then
          own = own + 1
          take(string.sub(job, 1, -#suffix - 1), true)
        end
      end
      seen = seen + #page
      enough = #page < page_size or own * 2 < #page
    end
  end

  local breaker, endpoint_text, log_texts = nil, nil, {}
  if #jobs > 0 then
    if #leaving > 0 then redis.call('ZREM', prioritized, unpack(leaving)) end
    redis.call('ZREM', held, unpack(events))
    redis.call('LPUSH', active, unpack(jobs))
    for i, job in ipairs(jobs) do
      redis.call('SET', base .. job .. ':lock', token, 'PX', lock_ms)
      redis.call(
        'HSET',
        base .. job,
        'processedOn',
        now,
        jobFields.attemptsStarted,
        starts[i],
        jobFields.batchPrimary,
        former_primary or primary
      )
    end
    if reads_texts then
      log_texts = redis.call('MGET', unpack(logs))
      breaker = redis.call('GET', keys.breaker(endpoint))
      endpoint_text = read_once('HGET', keys.endpoints(account), endpoint)
    end
  end
  local job = base .. primary .. suffix
  if forms_batch and not sent_before and #busy == 0 and redis.call('EXISTS', job) == 1 then
    local batch = table.concat({ primary, unpack(events) }, ' ')
    redis.call('HSET', job, jobFields.batchPrimary, primary, jobFields.batchEvents, batch)
  end
  count_held(counts, counted, address, redis.call('ZCARD', held))

  local taken = {}
  for i, fields in ipairs(stored) do
    taken[i] = batch_job {
      event = events[i],
      attempts_started = starts[i],
      stalled_count = tonumber(fields[2]),
      data = fields[3],
      holds = fields[5],
      log = log_texts[i],
      event_text = event_texts[i],
    }
  end
  return reply { sent_before = sent_before, busy = busy, breaker = breaker, endpoint_text = endpoint_text, jobs = taken }
end

--- Records in the jobs of some deliveries that they are a batch.
---@key job                       of the primary one
---@param base text
---@param suffix text
---@param events EventId[]        the primary one's first
function keep_together(job, base, suffix, events)
  for i, event in ipairs(events) do
    local key = base .. event .. suffix
    if redis.call('EXISTS', key) == 1 then
      redis.call('HSET', key, jobFields.batchPrimary, events[1])
      if i > 1 then
        redis.call('HDEL', key, jobFields.batchEvents)
      else
        redis.call('HSET', key, jobFields.batchEvents, table.concat(events, ' '))
      end
    end
  end
end

---@key job                       of the primary one
function dissolve_batch(job)
  redis.call('HDEL', job, jobFields.batchPrimary, jobFields.batchEvents)
end

--- Gives whether the primary delivery of its batch is another one, which runs or is about to: then that takes it. If that is held,
--- the batch goes with whichever of it is taken first.
---@with jobs JobKeys
---@key prioritized = jobs.prioritized
---@key delayed = jobs.delayed
---@key active = jobs.active
---@key wait = jobs.wait
---@param base text
---@param suffix text
---@param event EventId
---@param now integer
---@return boolean
function is_taken_by_another(prioritized, delayed, active, wait, base, suffix, event, now)
  local _, primary = batch_of(base, event, suffix)
  if not primary or primary == event then return false end
  local job = primary .. suffix
  local score = redis.call('ZSCORE', delayed, job)
  local is_soon = score and tonumber(score) <= (now + DUE_WITHIN_MS) * DELAYED_SCORE
  local is_near = is_soon or redis.call('ZSCORE', prioritized, job)
  return (is_near or redis.call('LPOS', active, job) or redis.call('LPOS', wait, job)) and true or false
end
