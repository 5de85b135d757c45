-- The callers that wait for a task to end (see queues/await).

-- Returns *key*, the name of the HASH task id -> channels of its callers, separated by blanks. Returns false while no
-- caller waits.
local function awaited_in(key)
  return redis.call('HLEN', key) > 0 and key
end

-- Notifies every caller that waits for the task *id*. *awaited* is what `awaited_in` returned.
local function notify_awaiting(awaited, id)
  local channels = awaited and redis.call('HGET', awaited, id)
  if channels then
    redis.call('HDEL', awaited, id)
    for channel in channels:gmatch('%S+') do
      redis.pcall('SPUBLISH', channel, '')
    end
  end
end
