-- The clock: every decision about time is the server's.

-- The time in ms, in s and in us since 1970.
local function clock()
  local time = redis.call('TIME')
  local now_s = tonumber(time[1])
  local now_us = now_s * 1000000 + tonumber(time[2])
  return math.floor(now_us / 1000), now_s, now_us
end
