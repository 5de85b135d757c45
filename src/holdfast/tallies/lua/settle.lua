#!lua
-- tallies/settle: add one part of a journal to its sums.
--
-- KEYS[1]  LIST    pending  tokens of journals
-- KEYS[2]  LIST    journal  MessagePack: name of its sums, how many values of these come before, then count
--                           and value, again and again
-- KEYS[3]  ZSET    sums     those of its first part
-- ARGV[1]  string  token    of the journal
-- ARGV[2]  int     number   how many parts it has, as the caller knows
-- ARGV[3]  int     kept_s   how long the sums are kept (s)
-- ARGV[4]  string  name     of the sums; another part comes first: somebody else was faster
-- returns  int     how many parts are left
-- include add

local journal, sums, token, number = KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2])
local left = redis.call('LLEN', journal)
if left == number and left > 0 then
  local part = cmsgpack.unpack(redis.call('LRANGE', journal, 0, 0)[1])
  if part[1] == ARGV[4] then
    add(sums, part, 3, part[2], ARGV[3])
    redis.call('LPOP', journal)
    left = left - 1
  end
end
if left == 0 then
  redis.call('LREM', KEYS[1], 0, token)
end
return left
