#!lua
-- rows/define: into how many shards a cache is cut; whoever says it first decides.
--
-- KEYS[1]  STRING  definition  the number of shards
-- ARGV[1]  string  given   what the caller says; '' it does not
-- ARGV[2]  string  usual   what it is if nobody has said; '' leaves it open
-- ARGV[3]  int     kept_s  how long it is kept without use
-- returns  string  the number; '' nobody has said

local definition = KEYS[1]
local stored = redis.call('GET', definition)
if not stored then
  stored = ARGV[1] ~= '' and ARGV[1] or ARGV[2]
end
if stored ~= '' then
  redis.call('SET', definition, stored, 'EX', ARGV[3])
end
return stored
