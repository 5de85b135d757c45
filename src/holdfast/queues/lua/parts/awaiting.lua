-- Who waits for a task to end (see queues/lua/await.lua).

-- The HASH id -> channels, separated by blanks, as the function below takes it; false while it is empty.
local function awaited_in(key)
  return redis.call('EXISTS', key) == 1 and key
end

local function notify_awaiting(awaited, id)
  local channels = awaited and redis.call('HGET', awaited, id)
  if channels then
    redis.call('HDEL', awaited, id)
    for channel in channels:gmatch('%S+') do
      redis.pcall('SPUBLISH', channel, '')
    end
  end
end
