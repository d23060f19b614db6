---@include ./bullmq-shard.lua
---@record batch_members {breaker text?, endpoint_text shared?, events EventId[], logs text?[], texts text?[], requests text?[], places integer[]}

-- A batch is the deliveries of an endpoint that go in one request. They have one job together, `batch/<name>.<endpoint>`, until each
-- of them has ended or is in another batch. Its hash has beside BullMQ's own fields `members`, their events, and `request <event>`
-- of each that is to be sent for one. The index of the endpoint's batches has the name of each delivery's batch.

--- The job of the batch that a delivery is in, if it is in one.
local function batch_job_of(shard, endpoint, event)
  local name = redis.call('HGET', batches_of(shard, endpoint), event)
  return name and batch_job(name, endpoint)
end

local function events_in(text)
  local events = {}
  for event in string.gmatch(text or '', '%S+') do
    events[#events + 1] = event
  end
  return events
end

local function request_fields(events)
  local fields = {}
  for i, event in ipairs(events) do
    fields[i] = 'request ' .. event
  end
  return fields
end

--- Its text is given once for all scripts that run together: an endpoint's deliveries come together, and so do those of an event.
local function read_once(command, key, ...)
  local name = table.concat({ key, ... }, ' ')
  if once[name] == nil then
    local text = redis.call(command, key, ...)
    once[name] = text and shared(text)
  end
  return once[name]
end

--- As far as their events have room, but one at least. Gives the events and, if they were read, their texts.
local function that_fit(events, account, max_bytes, reads_texts)
  if not reads_texts then return events, {} end
  local fitting, texts, room, read_at_once = {}, {}, max_bytes, 20
  for first = 1, #events, read_at_once do
    local some = {}
    for i = first, math.min(first + read_at_once - 1, #events) do
      local event = events[i]
      some[#some + 1] = keys.event(account, event)
    end
    for i, text in ipairs(redis.call('MGET', unpack(some))) do
      room = room - (text and #text or 0)
      if room < 0 and #fitting > 0 then return fitting, texts end
      fitting[#fitting + 1] = events[first + i - 1]
      texts[#fitting] = text
    end
  end
  return fitting, texts
end

--- What the attempts of some deliveries need that go together, and for which requests they are to be sent. `places`: those in their lane.
local function read_members(account, endpoint, events, texts, requests, places, reads_texts)
  local logs = {}
  for i, event in ipairs(events) do
    logs[i] = keys.delivery(endpoint, event)
  end
  return batch_members {
    breaker = reads_texts and redis.call('GET', keys.breaker(endpoint)),
    endpoint_text = reads_texts and read_once('HGET', keys.endpoints(account), endpoint),
    events = events,
    logs = reads_texts and redis.call('MGET', unpack(logs)),
    texts = texts,
    requests = requests,
    places = places,
  }
end
