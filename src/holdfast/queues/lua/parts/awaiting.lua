-- Who waits for a task to end (see queues/lua/await.lua). Expects: awaited.

local any_awaited = redis.call('EXISTS', awaited) == 1

-- *awaited* is a HASH id -> channels, separated by blanks.
local function tell_awaiting(id)
  local channels = any_awaited and redis.call('HGET', awaited, id)
  if channels then
    redis.call('HDEL', awaited, id)
    for channel in channels:gmatch('%S+') do
      redis.pcall('SPUBLISH', channel, '')
    end
  end
end
