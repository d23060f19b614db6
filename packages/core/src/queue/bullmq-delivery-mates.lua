---@include ./bullmq-running-jobs.lua
---@include ./redis-held-counts.lua
---@const DELAYED_SCORE, jobFields ./bullmq-layout
---@const DUE_WITHIN_MS ../domain/delivery
---@type JobKeys ./bullmq-layout
---@record mate {event EventId, attempts_started integer, stalled_count integer, data text, holds text?, log text?, event_text text?}

-- The deliveries that go together are recorded in their jobs: each has the event of the first one, and the job of that has all
-- of them. So they go when their jobs do. A set whose first one has ended is none any more, and what has been tied again is of
-- that set alone.
--
-- `base` is the prefix of the jobs' keys, and `suffix` is that of the ids of an endpoint's jobs.

--- Gives the set of an event, and the first one's event.
local function tied_to(base, event, suffix)
  local first = redis.call('HGET', base .. event .. suffix, jobFields.firstMate)
  local set = first and redis.call('HGET', base .. first .. suffix, jobFields.mates)
  if set and string.find(' ' .. set .. ' ', ' ' .. event .. ' ', 1, true) then return set, first end
end

--- Those that were tied are taken wherever they wait, unless they are due later. Others are taken as they are held, and then
--- from the front of the queue; none of them is tied to others. They are tied at once if all are taken: then nothing is left to
--- do before they are sent. Taking one does what `take_job` does.
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
---@param first EventId           of the job that others are taken for
---@param most integer            to take
---@param max_bytes integer       of their events
---@param is_in_order boolean     only held ones are taken
---@param ties boolean            those that are new are tied
---@param now digits
---@param token text              what they are locked with
---@param lock_ms digits          how long the locks hold
---@param reads_along boolean     what the attempts need
---@reply tied text?              the set that the first one was tied to
---@reply busy EventId[]          those that run of the tied ones, or of the held ones: they may be on their way to that
---@reply breaker text?
---@reply endpoint_text shared?
---@reply mates mate[]
function take_mates(
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
  first,
  most,
  max_bytes,
  is_in_order,
  ties,
  now,
  token,
  lock_ms,
  reads_along
)
  local endpoint, account = string.sub(suffix, 2), nil
  local soon = (tonumber(now) + DUE_WITHIN_MS) * DELAYED_SCORE
  -- Of each that is taken, in the same order.
  local jobs, events, stored, starts, event_texts, logs = {}, {}, {}, {}, {}, {}
  local leaving = {}
  local room, is_full = max_bytes, false
  local tied, leader = tied_to(base, first, suffix)

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
    if event == first or #jobs >= most or is_full then return false end
    local job = event .. suffix
    local fields = redis.call(
      'HMGET',
      base .. job,
      jobFields.attemptsStarted,
      jobFields.stalledCount,
      jobFields.data,
      jobFields.firstMate,
      jobFields.holds
    )
    local data, with = fields[3], fields[4]
    account = account or data and string.match(data, '"account_id":"([%w_-]+)"')
    if not data or not account then return end
    if with and not tied and tied_to(base, event, suffix) then return false end
    local text = reads_along and redis.call('GET', keys.event(account, event))
    if text and #text > room and not tied then
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
  if tied then
    for event in string.gmatch(tied, '%S+') do
      if event ~= first and redis.call('HGET', base .. event .. suffix, jobFields.firstMate) == leader then
        take_or_note(event)
      end
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
        if string.sub(job, -#suffix) == suffix then
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
        jobFields.firstMate,
        tied and leader or first
      )
    end
    if reads_along then
      log_texts = redis.call('MGET', unpack(logs))
      breaker = redis.call('GET', keys.breaker(endpoint))
      endpoint_text = read_once('HGET', keys.endpoints(account), endpoint)
    end
  end
  local job = base .. first .. suffix
  if ties and not tied and #busy == 0 and redis.call('EXISTS', job) == 1 then
    redis.call('HSET', job, jobFields.firstMate, first, jobFields.mates, table.concat({ first, unpack(events) }, ' '))
  end
  count_held(counts, counted, address, redis.call('ZCARD', held))

  local mates = {}
  for i, fields in ipairs(stored) do
    mates[i] = mate {
      event = events[i],
      attempts_started = starts[i],
      stalled_count = tonumber(fields[2]),
      data = fields[3],
      holds = fields[5],
      log = log_texts[i],
      event_text = event_texts[i],
    }
  end
  return reply { tied = tied, busy = busy, breaker = breaker, endpoint_text = endpoint_text, mates = mates }
end

---@key job                       of the first one
---@param base text
---@param suffix text
---@param events EventId[]
function tie_mates(job, base, suffix, events)
  for i, event in ipairs(events) do
    local key = base .. event .. suffix
    if redis.call('EXISTS', key) == 1 then
      redis.call('HSET', key, jobFields.firstMate, events[1])
      if i > 1 then
        redis.call('HDEL', key, jobFields.mates)
      else
        redis.call('HSET', key, jobFields.mates, table.concat(events, ' '))
      end
    end
  end
end

---@key job                       of the first one
function untie_mates(job)
  redis.call('HDEL', job, jobFields.firstMate, jobFields.mates)
end

--- One that is held goes as soon as any of its set does: then that takes it. Gives whether the first one of those that it is tied
--- to is another one, which runs or is about to.
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
function follows_mate(prioritized, delayed, active, wait, base, suffix, event, now)
  local _, first = tied_to(base, event, suffix)
  if not first or first == event then return false end
  local job = first .. suffix
  local score = redis.call('ZSCORE', delayed, job)
  local is_soon = score and tonumber(score) <= (now + DUE_WITHIN_MS) * DELAYED_SCORE
  local is_near = is_soon or redis.call('ZSCORE', prioritized, job)
  return (is_near or redis.call('LPOS', active, job) or redis.call('LPOS', wait, job)) and true or false
end
