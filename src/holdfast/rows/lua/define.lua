#!lua
-- rows/define: into how many shards a cache is cut; whoever says it first decides.
--
-- KEYS[1]  STRING  definition  the number of shards
-- ARGV[1]  int     number  of shards, if nobody has said
-- ARGV[2]  int     kept_s  how long it is kept without use
-- returns  string  the number

local number = redis.call('GET', KEYS[1]) or ARGV[1]
redis.call('SET', KEYS[1], number, 'EX', ARGV[2])
return number
