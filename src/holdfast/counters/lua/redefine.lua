#!lua
-- counters/redefine: what the counter keeps from now on, whatever was said before.
--
-- KEYS[1]  STRING  definition  precisions and how many samples are kept
-- KEYS[2]  HASH    even    ledger of even hours
-- KEYS[3]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  shape     the new definition
-- ARGV[4]  int     kept_s    how long it is kept without an add
-- returns  int     1
-- include clock
-- include ledger

local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[3], 'EX', ARGV[4])
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
