#!lua
-- queues/redefine: set the capacity of a queue, whatever it was before.
--
-- KEYS[1]  HASH    settings  paused, capacity
-- KEYS[2]  HASH    even      ledger of even hours
-- KEYS[3]  HASH    odd       ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  int     capacity  0: no limit
-- returns  int     1
-- include clock
-- include ledger

local _, now_s = clock()
local settings = KEYS[1]
local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  -- "No limit" is stored too: a missing capacity is set by the next producer that gives one.
  redis.call('HSET', settings, 'capacity', ARGV[3])
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
