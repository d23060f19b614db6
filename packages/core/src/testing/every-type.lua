---@include ./is-even.lua
---@const FULL_LOG_BYTES, endStatuses ../domain/delivery-log
---@record row {name text, is_even boolean, body shared?}

--- Has each kind of argument and of reply, and gives back what it gets.
---@guard
---@with account AccountId
---@key event_key = event(account, event)
---@key own
---@key order = order(endpoint) if endpoint
---@param event EventId
---@param endpoint EndpointId?      its order is asked for
---@param fails boolean
---@param stops boolean
---@param text text
---@param count integer
---@param large digits
---@param choice 'one'|'two'
---@param maybe integer?
---@param rows {name text, at digits}[]
---@param names text[]
---@reply text text
---@reply count integer
---@reply large text              as a text
---@reply choice 'one'|'two'
---@reply is_there boolean
---@reply maybe integer?
---@reply rows row[]
---@reply names text[]
---@reply constants text
---@reply key text
---@reply order text?
function every_type(
  event_key,
  own,
  order,
  event,
  endpoint,
  fails,
  stops,
  text,
  count,
  large,
  choice,
  maybe,
  rows,
  names
)
  if stops then return stop() end
  redis.call('SET', own, text)
  if fails then redis.call('HGET', own, 'no hash') end
  local found = {}
  for i, each in ipairs(rows) do
    found[i] = row {
      name = each.name,
      is_even = is_even(tonumber(each.at)),
      body = i == 1 and shared(text),
    }
  end
  return reply {
    text = redis.call('GET', own),
    count = count,
    large = large,
    choice = choice,
    is_there = redis.call('EXISTS', event_key) == 1,
    maybe = maybe,
    rows = found,
    names = names,
    constants = table.concat({ FULL_LOG_BYTES, unpack(endStatuses) }, ' '),
    key = keys.delivery(endpoint, event),
    order = order,
  }
end
