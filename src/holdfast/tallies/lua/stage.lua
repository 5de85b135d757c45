#!lua
-- tallies/stage: store one chunk of counts for a later commit.
--
-- KEYS[1]  LIST    staged    chunks of the commit so far
-- ARGV[1]  int     number    position of this chunk in the list
-- ARGV[2]  int     staged_s  lifetime of the chunks without a commit (s)
-- ARGV[3]  string  chunk     MessagePack: name of the counts, number of values of these counts that are added
--                            before, then count and value, alternating
-- returns  int     length of the list; not above `number` if another chunk was expected
local staged, number = KEYS[1], tonumber(ARGV[1])
local length = redis.call('LLEN', staged)
if length == number then
  length = redis.call('RPUSH', staged, ARGV[3])
  redis.call('EXPIRE', staged, ARGV[2])
end
return length
