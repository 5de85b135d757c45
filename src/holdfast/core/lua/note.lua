#!lua
-- core/note: add units to the list of names.
--
-- KEYS[1]  ZSET    names   name of a unit, scored by when it was last noted (ms)
-- ARGV[1]  string  first of the names, as the user gave them
-- returns  int     how many of them were not known
-- include clock

local now_ms = clock()
-- Names that were not noted for 30 days are dropped. A list without notes expires as late.
local KEPT_MS = 30 * 86400 * 1000
local MOST = 10000  -- names of a kind: of more, the ones with the oldest notes are dropped
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
