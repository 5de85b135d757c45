#!lua
-- tallies/settle: add the first chunk of a journal to its counts.
--
-- KEYS[1]  LIST    pending  tokens of journals
-- KEYS[2]  LIST    journal  chunks, see `staged` in keys.py
-- KEYS[3]  ZSET    counts   counts to which the caller expects the first chunk to be added
-- ARGV[1]  string  token    token of the journal
-- ARGV[2]  int     number   number of chunks that the caller expects in the journal
-- ARGV[3]  int     kept_s   lifetime of the counts (s)
-- ARGV[4]  string  name     name of these counts; if the first chunk has another name, another caller was faster
-- returns  int     number of chunks that the journal still has
-- include add

local journal, counts, token, number = KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2])
local left = redis.call('LLEN', journal)
if left == number and left > 0 then
  local chunk = cmsgpack.unpack(redis.call('LRANGE', journal, 0, 0)[1])
  if chunk[1] == ARGV[4] then
    add(counts, chunk, 3, chunk[2], ARGV[3])
    redis.call('LPOP', journal)
    left = left - 1
  end
end
if left == 0 then
  redis.call('LREM', KEYS[1], 0, token)
end
return left
