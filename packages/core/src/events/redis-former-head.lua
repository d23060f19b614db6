-- The head of an event that the version before has stored: see `former-event-text.ts`.

local function is_former(head)
  return string.find(head, '^%d') ~= nil
end

local function is_former_put_off(head)
  return string.find(head, ' [~-]%d') ~= nil
end

local function former_state_of(head)
  if string.find(head, ' ~%d') then return 'waiting' end
  return string.find(head, ' %-%d') and 'cancelled' or 'due'
end

local function is_former_erased(head)
  return string.find(head, ' !%d+$') ~= nil
end

local function former_time_of(head)
  return string.match(head, '^%d+')
end

local function former_type_of(head)
  return string.match(head, '^%d+ ([^ ]+)')
end

local function former_due_at_of(head)
  return string.match(head, ' %-%d+,(%d+)') or string.match(head, '^%d+')
end

local function former_erased_head(head, erased_at)
  return head .. ' !' .. erased_at
end

local function former_due_head(head)
  return (string.gsub(head, ' ~(%d)', ' +%1', 1))
end

local function former_cancelled_head(head, cancelled_at)
  local due_at = string.match(head, '^%d+')
  local published_at = string.match(head, ' ~(%d+)')
  local rest = string.gsub(string.sub(head, #due_at + 1), ' ~%d+', ' -' .. published_at .. ',' .. due_at, 1)
  return cancelled_at .. rest
end
