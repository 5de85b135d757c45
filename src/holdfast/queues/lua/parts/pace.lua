-- How many tasks end, by minute, for people to see.

local PACE_MINUTES = 120  -- a later minute takes the place of the one so long ago

-- Adds *ended*, the tasks of one step that are `done`, `retried` and `dead`.
local function write_pace(pace, ended, now_ms)
  if ended.done + ended.retried + ended.dead == 0 then
    return
  end
  local minute = math.floor(now_ms / 60000)
  local place = minute % PACE_MINUTES
  local text = redis.call('HGET', pace, place) or ''
  local at, done, retried, dead_ones = text:match('^(%d+):(%d+):(%d+):(%d+)$')
  if tonumber(at) ~= minute then
    done, retried, dead_ones = 0, 0, 0
  end
  redis.call('HSET', pace, place, string.format('%.0f:%.0f:%.0f:%.0f', minute,
    done + ended.done, retried + ended.retried, dead_ones + ended.dead))
  if tonumber(at) ~= minute then
    redis.call('PEXPIRE', pace, PACE_MINUTES * 60000)
  end
end
