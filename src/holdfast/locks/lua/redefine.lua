#!lua
-- locks/redefine: change the number of permits.
--
-- KEYS[1]  HASH    state    limit, fence, uncontended, ends_ms, unconfirmed, unconfirmed_ms
-- KEYS[2]  ZSET    holders  ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- KEYS[3]  ZSET    wait_queue  `id channel` of the waiters, scored by their ticket
-- KEYS[4]  HASH    even     ledger of even hours
-- KEYS[5]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  int     new_limit  the new number of permits
-- returns  int     1
-- include clock
-- include ledger
-- include stored
-- include state
-- include contention
-- include hand_over

local now_ms, now_s, now_us = clock()
local state, new_limit = KEYS[1], tonumber(ARGV[3])
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
local limit, fence, uncontended = read_state(state)
local permits = {
  state = state, holders = KEYS[2], wait_queue = KEYS[3], now_ms = now_ms, now_us = now_us,
  limit = limit, fence = fence, uncontended = uncontended, channel = '',
}
end_uncontended(permits)

if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  permits.limit = new_limit
  redis.call('HSET', state, 'limit', new_limit)
  redis.call('PEXPIRE', state, KEPT_MS)
  hand_over(permits)
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
