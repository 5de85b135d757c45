#!lua
-- core/note: remember that units exist.
--
-- KEYS[1]  ZSET    names   name of a unit, scored by when it was last noted (ms)
-- ARGV[1]  string  first of the names, as the user gave them
-- returns  int     how many of them were not known
-- include clock

local now_ms = clock()
-- Names not noted for 30 days are dropped, and so is a list in which nothing is noted for as long.
local KEPT_MS = 30 * 86400 * 1000
local MOST = 10000  -- names of a kind: beyond that, those not noted for longest are dropped
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
