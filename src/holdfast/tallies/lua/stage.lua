#!lua
-- tallies/stage: store one chunk of counts for a later commit.
--
-- KEYS[1]  LIST    staged    chunks of the commit that were sent before
-- ARGV[1]  int     number    position of this chunk in the list, from 0
-- ARGV[2]  int     staged_s  lifetime of the chunks if they are not committed (s)
-- ARGV[3]  string  chunk     the chunk, see `staged` in keys.py
-- returns  int     length of the list; `number` or less if earlier chunks are missing
local staged, number = KEYS[1], tonumber(ARGV[1])
local length = redis.call('LLEN', staged)
if length == number then
  length = redis.call('RPUSH', staged, ARGV[3])
  redis.call('EXPIRE', staged, ARGV[2])
end
return length
