#!lua
-- tallies/stage: take in counts that are to be committed.
--
-- KEYS[1]  LIST    staged  parts of the commit so far
-- ARGV[1]  int     number  how many these are
-- ARGV[2]  int     staged_s  how long they wait for their commit (s)
-- ARGV[3]  string  part    MessagePack: name of its sums, how many values of these come before, then count and
--                          value, again and again
-- returns  int     how many there are now; no more than before: another number was to come
local staged, number = KEYS[1], tonumber(ARGV[1])
local there = redis.call('LLEN', staged)
if there == number then
  there = redis.call('RPUSH', staged, ARGV[3])
  redis.call('EXPIRE', staged, ARGV[2])
end
return there
