#!lua
-- locks/redefine: how many may hold at once, whatever was said before.
--
-- KEYS[1]  HASH    state    limit, fence, sole, ends, doubts, doubted
-- KEYS[2]  ZSET    holders  ids, scored by when their place ends (ms); `?id` has not answered yet
-- KEYS[3]  ZSET    line     `id channel` of those who wait, scored by their ticket
-- KEYS[4]  HASH    even     ledger of even hours
-- KEYS[5]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  int     size     the new limit
-- returns  int     1
-- include clock
-- include ledger

local state, holders, line = KEYS[1], KEYS[2], KEYS[3]
local size, channel = tonumber(ARGV[3]), ''
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
-- include sound
-- include places
-- include crowd
-- include hand_over

if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  limit = size
  redis.call('HSET', state, 'limit', limit)
  redis.call('PEXPIRE', state, KEPT_MS)
  hand_over()
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
