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
-- include stored
-- include places
-- include crowd
-- include hand_over

local now_ms, now_s, now_us = clock()
local state, size = KEYS[1], tonumber(ARGV[3])
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
local limit, fence, sole = read_places(state)
local places = {
  state = state, holders = KEYS[2], line = KEYS[3], now_ms = now_ms, now_us = now_us, limit = limit,
  fence = fence, last_fence = fence, sole = sole, channel = '', told = {},
}
move_sole_to_holders(places)

if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  places.limit = size
  redis.call('HSET', state, 'limit', size)
  redis.call('PEXPIRE', state, KEPT_MS)
  hand_over(places)
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
