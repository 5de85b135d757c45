#!lua flags=allow-oom
-- core/forget: remove names of units from the catalog.
--
-- KEYS[1]  ZSET    names   name of a unit, scored by when it was last recorded (ms)
-- ARGV[1]  string  first of the names, as the user gave them
-- returns  int     how many of the names were in the catalog
local FIRST = 1
local known = 0
for i = FIRST, #ARGV do
  known = known + redis.call('ZREM', KEYS[1], ARGV[i])
end
return known
