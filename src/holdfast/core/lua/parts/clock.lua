-- The server's clock. Scripts use no other.

-- Returns the time since 1970: in ms, in s, and in us.
local function clock()
  local time = redis.call('TIME')
  local now_s = tonumber(time[1])
  local now_us = now_s * 1000000 + tonumber(time[2])
  return math.floor(now_us / 1000), now_s, now_us
end
