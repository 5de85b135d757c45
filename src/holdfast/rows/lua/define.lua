#!lua
-- rows/define: return the number of shards of a cache; store it if none is stored.
--
-- KEYS[1]  STRING  definition  number of shards
-- ARGV[1]  int     number  number of shards to store
-- ARGV[2]  int     kept_s  lifetime of the definition after this call (s)
-- returns  string  the stored number

local number = redis.call('GET', KEYS[1]) or ARGV[1]
redis.call('SET', KEYS[1], number, 'EX', ARGV[2])
return number
