#!lua
-- tallies/commit: count the lines of a part of a file, unless somebody has.
--
-- KEYS[1]  LIST    pending   tokens of journals
-- KEYS[2]  STRING  position  `offset token mark`: up to where the file is counted, by which commit
-- KEYS[3]  LIST    staged    counts that were sent before
-- KEYS[4]  LIST    journal   what they become
-- KEYS[5]  ZSET    sums      the first of those that parts are given for here
-- ARGV[1]  string  from      offset up to which the file was counted when this part began
-- ARGV[2]  string  to        offset up to which it is counted then
-- ARGV[3]  string  token     of this commit
-- ARGV[4]  int     number    how many parts are staged
-- ARGV[5]  int     kept_s    how long everything is kept (s)
-- ARGV[6]  string  mark    tells the file from others up to there; '' nothing does
-- ARGV[7]  string  first of the parts, MessagePack: count and value, again and again
-- returns  string  '' or, with nothing counted: 'at OFFSET', 'staged NUMBER'
-- include add

local FIRST = 7
local FIRST_KEY = 5
local from, to, token, number, kept_s = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local counted = to .. ' ' .. token .. (ARGV[6] == '' and '' or ' ' .. ARGV[6])
local stored = redis.call('GET', KEYS[2]) or '0'
if stored == counted then  -- the reply was lost, and this is the repetition
  return ''
end
local offset = stored:match('^%d+')
if offset ~= from then
  return 'at ' .. offset
end
if number > 0 then
  local there = redis.call('LLEN', KEYS[3])
  if there ~= number then
    return 'staged ' .. there
  end
  redis.call('RENAME', KEYS[3], KEYS[4])  -- a belated `stage` finds another key
  redis.call('EXPIRE', KEYS[4], kept_s)
  redis.call('RPUSH', KEYS[1], token)
  redis.call('EXPIRE', KEYS[1], kept_s)
end
for i = FIRST, #ARGV do
  local n = FIRST_KEY + i - FIRST
  add(KEYS[n], cmsgpack.unpack(ARGV[i]), 1, 0, kept_s)
end
redis.call('SET', KEYS[2], counted, 'EX', kept_s)
return ''
