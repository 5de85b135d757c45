#!lua
-- tallies/commit: add the counts of a range of a file, unless the range is already counted.
--
-- KEYS[1]  LIST    pending   tokens of journals
-- KEYS[2]  STRING  position  `offset token mark`: up to where the file is counted, and by which commit
-- KEYS[3]  LIST    staged    chunks that were sent before
-- KEYS[4]  LIST    journal   the new name of `staged`
-- KEYS[5]  ZSET    counts    first of the counts to which chunks are added here
-- ARGV[1]  string  from      offset at which the range begins
-- ARGV[2]  string  to        offset at which the range ends
-- ARGV[3]  string  token     of this commit
-- ARGV[4]  int     number    number of staged chunks
-- ARGV[5]  int     kept_s    lifetime of all keys (s)
-- ARGV[6]  string  mark      distinguishes the file from others up to `to`; '' if there is no mark
-- ARGV[7]  string  first of the chunks, MessagePack: count and value, alternating
-- returns  string  '' if added; otherwise nothing was added: 'at OFFSET', 'staged NUMBER'
-- include add

local FIRST = 7
local FIRST_KEY = 5
local from, to, token, number, kept_s = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local counted = to .. ' ' .. token .. (ARGV[6] == '' and '' or ' ' .. ARGV[6])
local stored = redis.call('GET', KEYS[2]) or '0'
if stored == counted then  -- the reply was lost, and the call is repeated
  return ''
end
local offset = stored:match('^%d+')
if offset ~= from then
  return 'at ' .. offset
end
if number > 0 then
  local length = redis.call('LLEN', KEYS[3])
  if length ~= number then
    return 'staged ' .. length
  end
  redis.call('RENAME', KEYS[3], KEYS[4])  -- so a late call of `stage` cannot append to the journal
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
