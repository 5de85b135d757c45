#!lua
-- completions/redefine: change how many recent names are kept.
--
-- KEYS[1]  LIST    names   the latest first
-- KEYS[2]  STRING  limit   how many names are kept
-- KEYS[3]  HASH    even    ledger of even hours
-- KEYS[4]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  int     size     the new limit
-- ARGV[4]  int     kept_ms  milliseconds after which `limit` expires, unless a touch extends it
-- returns  int     1
-- include clock
-- include ledger

local _, now_s = clock()
local ledger = ledger_at(KEYS[3], KEYS[4], now_s)
if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[3]) - 1)
  redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
