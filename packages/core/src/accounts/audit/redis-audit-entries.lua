--- A log is a sorted set whose members begin with the id of the entry, and so with its time.
local function has_entry(log, id)
  return redis.call('ZLEXCOUNT', log, '[' .. id, '(' .. id .. '\255') > 0
end

--- Without `most` there is no bound by count: entries move to the history.
local function append_entry(log, id, entry, most, oldest, kept_ms)
  if has_entry(log, id) then return end
  redis.call('ZADD', log, 0, id .. entry)
  redis.call('ZREMRANGEBYLEX', log, '-', '(' .. oldest)
  if most then redis.call('ZREMRANGEBYRANK', log, 0, -most - 1) end
  redis.call('PEXPIRE', log, kept_ms)
end

--- Of the change that runs: its entry, if it is to be on record.
local running_change

--- Called by a change where it makes what is to be on record.
local function record_act()
  local entry = running_change.entry
  if not entry then return end
  append_entry(running_change.log, entry.id, entry.text, entry.most, entry.oldest, entry.kept_ms)
  running_change.is_recorded = true
end

--- Whether the reply of this very change was lost: it is not made again.
local function was_made()
  running_change.is_recorded = running_change.entry and has_entry(running_change.log, running_change.entry.id) or false
  return running_change.is_recorded
end

--- The last key is that of the log, the first argument the entry.
local function run_change(change, keys_given, args)
  running_change = { log = keys_given[#keys_given], entry = args[1], is_recorded = false }
  local reply_of_change = change(keys_given, args[2])
  return { running_change.is_recorded and 1 or 0, reply_of_change }
end

--- Of all logs together.
---@key index = auditIndex
---@key waiting = waitingAudits
---@param member text
---@param most integer?
---@param oldest text        those before are too old
---@param is_elsewhere boolean  the entry waits beside its change
function add_to_index(index, waiting, member, most, oldest, is_elsewhere)
  redis.call('ZADD', index, 0, member)
  redis.call('ZREMRANGEBYLEX', index, '-', '(' .. oldest)
  if most then redis.call('ZREMRANGEBYRANK', index, 0, -most - 1) end
  if is_elsewhere then redis.call('ZADD', waiting, 0, member) end
end

---@key log
---@param id text
---@param text text
---@param most integer?
---@param oldest text        those before are too old
---@param kept_ms digits
function add_entry(log, id, text, most, oldest, kept_ms)
  append_entry(log, id, text, most, oldest, kept_ms)
end

--- The account's id stands in each entry as its writer has put it: ids need no escapes in JSON, and an id within a text would be
--- between escaped quotes.
---@key refusals = allAuditRefusals
---@param account AccountId
function forget_refusals_of(refusals, account)
  for _, member in ipairs(redis.call('ZRANGE', refusals, 0, -1)) do
    if string.find(member, '"accountId":"' .. account .. '"', 1, true) then redis.call('ZREM', refusals, member) end
  end
end
