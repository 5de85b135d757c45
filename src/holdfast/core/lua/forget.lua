#!lua flags=allow-oom
-- core/forget: a unit is no more.
--
-- KEYS[1]  ZSET    names   name of a unit, scored by when it was last noted (ms)
-- ARGV[1]  string  name    as the user gave it
-- returns  int     1 when it was known
return redis.call('ZREM', KEYS[1], ARGV[1])
