-- Who waits for a task to end (see queues/lua/await.lua).

-- *awaited* is a HASH id -> channels, separated by blanks.
local function tell_awaiting(awaited, id)
  local channels = redis.call('HGET', awaited, id)
  if channels then
    redis.call('HDEL', awaited, id)
    for channel in channels:gmatch('%S+') do
      redis.call('SPUBLISH', channel, '')
    end
  end
end
