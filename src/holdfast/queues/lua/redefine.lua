#!lua
-- queues/redefine: set the capacity of a queue or the length of its history, whatever it was before.
--
-- KEYS[1]  HASH    settings  paused, capacity, history
-- KEYS[2]  LIST    history   the tasks that ended last
-- KEYS[3]  HASH    even      ledger of even hours
-- KEYS[4]  HASH    odd       ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  capacity  0: no limit; '': unchanged
-- ARGV[4]  string  kept      how many ended tasks the history keeps, 0: none; '': unchanged
-- returns  int     1
-- include clock
-- include ledger

local _, now_s = clock()
local settings, history, capacity, kept = KEYS[1], KEYS[2], ARGV[3], ARGV[4]
local ledger = ledger_at(KEYS[3], KEYS[4], now_s)
if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  if capacity ~= '' then
    -- "No limit" is stored too: a missing capacity is set by the next producer that gives one.
    redis.call('HSET', settings, 'capacity', capacity)
  end
  if kept ~= '' then
    redis.call('HSET', settings, 'history', kept)
    if kept == '0' then
      redis.call('UNLINK', history)
    end
  end
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
