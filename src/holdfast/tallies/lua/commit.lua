#!lua
-- tallies/commit: add the counts of a range of a file, if the file is counted exactly up to this range.
--
-- KEYS[1]  LIST    pending   tokens of journals
-- KEYS[2]  STRING  position  `OFFSET TOKEN MARK`: up to which offset the file is counted, and by which commit
-- KEYS[3]  LIST    staged    chunks that were sent before
-- KEYS[4]  LIST    journal   the key to which `staged` is renamed
-- KEYS[5]  ZSET    counts    first of the counts, one for each chunk in the arguments
-- ARGV[1]  string  from      offset at which the range begins
-- ARGV[2]  string  to        offset at which the range ends
-- ARGV[3]  string  token     token of this commit
-- ARGV[4]  int     number    number of staged chunks
-- ARGV[5]  int     kept_s    lifetime of all keys (s)
-- ARGV[6]  string  mark      digest that distinguishes the file up to `to` from others with the same id; '' if none
-- ARGV[7]  string  first of the chunks, MessagePack: count and value, alternating
-- returns  string  '': the counts were added, now or by an earlier call. Otherwise nothing was added:
--                  'at OFFSET': the file is counted up to this offset
--                  'staged NUMBER': the server has only so many staged chunks
-- include add

local FIRST = 7
local FIRST_KEY = 5
local from, to, token, number, kept_s = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local counted = to .. ' ' .. token .. (ARGV[6] == '' and '' or ' ' .. ARGV[6])
local stored = redis.call('GET', KEYS[2]) or '0'
if stored == counted then  -- the call is repeated, because its reply was lost
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
  redis.call('RENAME', KEYS[3], KEYS[4])  -- so that a delayed call of stage.lua cannot append to the journal
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
