#!lua
-- rows/define: the number of shards of a cache; the first call defines it.
--
-- KEYS[1]  STRING  definition  the number of shards
-- ARGV[1]  int     number  of shards, unless one is stored
-- ARGV[2]  int     kept_s  how long it is kept without use
-- returns  string  the number

local number = redis.call('GET', KEYS[1]) or ARGV[1]
redis.call('SET', KEYS[1], number, 'EX', ARGV[2])
return number
