-- The number of tasks that end in each minute.

local THROUGHPUT_MINUTES = 120  -- a minute overwrites the one that was so long ago

-- Adds *ended*, the numbers of tasks that are `done`, `retried` and `dead` by one step.
local function write_throughput(throughput, ended, now_ms)
  if ended.done + ended.retried + ended.dead == 0 then
    return
  end
  local minute = math.floor(now_ms / 60000)
  local field = minute % THROUGHPUT_MINUTES
  local text = redis.call('HGET', throughput, field) or ''
  local stored_minute, done, retried, dead = text:match('^(%d+):(%d+):(%d+):(%d+)$')
  local is_new = tonumber(stored_minute) ~= minute
  if is_new then
    done, retried, dead = 0, 0, 0
  end
  redis.call('HSET', throughput, field, string.format('%.0f:%.0f:%.0f:%.0f', minute,
    done + ended.done, retried + ended.retried, dead + ended.dead))
  if is_new then
    redis.call('PEXPIRE', throughput, THROUGHPUT_MINUTES * 60000)
  end
end
