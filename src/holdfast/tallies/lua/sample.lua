#!lua
-- tallies/sample: store rejected lines as samples, as long as there are fewer than *most*.
--
-- KEYS[1]  ZSET    samples  lines, scored by when they were added (ms)
-- ARGV[1]  int     most     maximum number of samples
-- ARGV[2]  int     kept_s   lifetime of the samples (s)
-- ARGV[3]  string  first of the lines
-- returns  int     number of samples
-- include clock

local now_ms = clock()
local FIRST = 3
local samples, most = KEYS[1], tonumber(ARGV[1])
local length = redis.call('ZCARD', samples)
for i = FIRST, #ARGV do
  if length < most then
    length = length + redis.call('ZADD', samples, 'NX', now_ms, ARGV[i])
  end
end
redis.call('EXPIRE', samples, ARGV[2])
return length
