#!lua
-- core/note: record names of units in the catalog.
--
-- KEYS[1]  ZSET    names   name of a unit, scored by when it was last recorded (ms)
-- ARGV[1]  string  first of the names, as the user gave them
-- returns  int     how many of the names were not in the catalog
-- include clock

local now_ms = clock()
local KEPT_MS = 30 * 86400 * 1000  -- A name is removed if it is not recorded again for so long.
local MOST = 10000  -- If there are more names, those that were recorded longest ago are removed.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms - KEPT_MS)
local FIRST = 1
local added = 0
for i = FIRST, #ARGV do
  added = added + redis.call('ZADD', KEYS[1], now_ms, ARGV[i])
end
local beyond = redis.call('ZCARD', KEYS[1]) - MOST
if beyond > 0 then
  redis.call('ZPOPMIN', KEYS[1], beyond)
end
redis.call('PEXPIRE', KEYS[1], KEPT_MS)
return added
