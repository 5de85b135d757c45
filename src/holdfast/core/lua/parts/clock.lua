-- The clock: every decision about time is the server's.
local time = redis.call('TIME')
local now_s = tonumber(time[1])
local now_us = now_s * 1000000 + tonumber(time[2])
local now_ms = math.floor(now_us / 1000)
