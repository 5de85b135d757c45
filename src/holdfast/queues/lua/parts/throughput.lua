-- The number of tasks that end in each minute.

local THROUGHPUT_MINUTES = 120  -- each minute overwrites the counts of 120 minutes before

-- Adds *ended*, the number of runs that ended in one step, by outcome. Returns whether this step is the
-- first of its minute in which any run ended.
local function write_throughput(throughput, ended, now_ms)
  if ended.done + ended.retried + ended.dead + ended.snoozed + ended.gave_up == 0 then
    return false
  end
  local minute = math.floor(now_ms / 60000)
  local field = minute % THROUGHPUT_MINUTES
  local text = redis.call('HGET', throughput, field) or ''
  local stored_minute, done, retried, dead, snoozed, gave_up =
    text:match('^(%d+):(%d+):(%d+):(%d+):(%d+):(%d+)$')
  local is_new = tonumber(stored_minute) ~= minute
  if is_new then
    done, retried, dead, snoozed, gave_up = 0, 0, 0, 0, 0
  end
  redis.call('HSET', throughput, field, string.format('%.0f:%.0f:%.0f:%.0f:%.0f:%.0f', minute,
    done + ended.done, retried + ended.retried, dead + ended.dead, snoozed + ended.snoozed,
    gave_up + ended.gave_up))
  if is_new then
    redis.call('PEXPIRE', throughput, THROUGHPUT_MINUTES * 60000)
  end
  return is_new
end
