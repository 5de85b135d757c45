#!lua
-- tallies/sample: keep a few of the lines that were rejected.
--
-- KEYS[1]  ZSET    samples  lines, scored by when they came (ms)
-- ARGV[1]  int     most     how many are kept
-- ARGV[2]  int     kept_s   how long (s)
-- ARGV[3]  string  first of the lines
-- returns  int     how many there are
-- include clock

local now_ms = clock()
local FIRST = 3
local samples, most = KEYS[1], tonumber(ARGV[1])
local there = redis.call('ZCARD', samples)
for i = FIRST, #ARGV do
  if there < most then
    there = there + redis.call('ZADD', samples, 'NX', now_ms, ARGV[i])
  end
end
redis.call('EXPIRE', samples, ARGV[2])
return there
