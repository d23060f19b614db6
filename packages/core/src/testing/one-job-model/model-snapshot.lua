---@record found_delivery {has_job boolean, places text[], lock text?, is_held boolean, log text?, is_listed boolean, is_event_listed boolean}

local function places_of(base, job)
  local places = {}
  for _, list in ipairs { 'wait', 'active', 'paused' } do
    for _ in ipairs(redis.call('LPOS', base .. list, job, 'COUNT', 0)) do
      table.insert(places, list)
    end
  end
  for _, set in ipairs { 'prioritized', 'delayed', 'failed', 'completed' } do
    if redis.call('ZSCORE', base .. set, job) then table.insert(places, set) end
  end
  return places
end

--- All of it at one moment.
---@with account AccountId
---@key held
---@key wake_ups
---@key listed = deliveries(endpoint)
---@key events = events(account)
---@param endpoint EndpointId
---@param address text        account/endpoint
---@param base text           of the keys of jobs
---@param deliveries {job text, event EventId}[]
---@reply held_count integer
---@reply wake_up_due_at integer?
---@reply deliveries found_delivery[]
function see(held, wake_ups, listed, events, endpoint, address, base, deliveries)
  local seen = {}
  for i, delivery in ipairs(deliveries) do
    local job, event = delivery.job, delivery.event
    seen[i] = found_delivery {
      has_job = redis.call('EXISTS', base .. job) == 1,
      places = places_of(base, job),
      lock = redis.call('GET', base .. job .. ':lock'),
      is_held = redis.call('ZSCORE', held, event) ~= false,
      log = redis.call('GET', keys.delivery(endpoint, event)),
      is_listed = redis.call('ZSCORE', listed, event) ~= false,
      is_event_listed = redis.call('ZSCORE', events, event) ~= false,
    }
  end
  local wake_up = redis.call('ZSCORE', wake_ups, address)
  return reply {
    held_count = redis.call('ZCARD', held),
    wake_up_due_at = wake_up and tonumber(wake_up),
    deliveries = seen,
  }
end
