#!lua flags=allow-oom
-- completions/drop: remove a name from the list of recent names.
--
-- KEYS[1]  LIST    names   the latest first
-- KEYS[2]  HASH    even    ledger of even hours
-- KEYS[3]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  string  name
-- returns  int     1: the name was removed
--                  0: the name was not in the list
-- include clock
-- include ledger

local _, now_s = clock()
local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end

local gone = math.min(1, redis.call('LREM', KEYS[1], 0, ARGV[3]))
ledger_write(ledger, ARGV[1], ARGV[2], gone)
return gone
