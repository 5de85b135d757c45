#!lua
-- core/note: remember that a unit exists.
--
-- KEYS[1]  ZSET    names   name of a unit, scored by when it was last noted (ms)
-- ARGV[1]  string  name    as the user gave it
-- returns  int     1 when it was not known
-- include clock

-- Names not noted for 30 days are dropped, and so is a list in which nothing is noted for as long.
local KEPT_MS = 30 * 86400 * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms - KEPT_MS)
local added = redis.call('ZADD', KEYS[1], now_ms, ARGV[1])
redis.call('PEXPIRE', KEYS[1], KEPT_MS)
return added
