#!lua flags=allow-oom
-- core/forget: remove units from the list of names.
--
-- KEYS[1]  ZSET    names   name of a unit, scored by when it was last noted (ms)
-- ARGV[1]  string  first of the names, as the user gave them
-- returns  int     how many of them were known
local FIRST = 1
local known = 0
for i = FIRST, #ARGV do
  known = known + redis.call('ZREM', KEYS[1], ARGV[i])
end
return known
