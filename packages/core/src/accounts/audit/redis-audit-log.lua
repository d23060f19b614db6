--- An act that changes nothing, or whose steps come after it.
---@change
---@with account AccountId
---@key log = auditLog(account)
function record_alone(log)
  if not was_made() then record_act() end
end
