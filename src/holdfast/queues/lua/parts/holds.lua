-- Finds out whether a running task still belongs to the worker that asks.

-- Returns whether the worker with this *token* still holds the task.
local function holds(keys, id, token)
  local record = redis.call('HGET', keys.state, id) or ''
  return record:sub(1, #token + 1) == token .. ':' and redis.call('ZSCORE', keys.leases, id) and true
end
