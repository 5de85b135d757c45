#!lua
-- completions/add: add names to the index.
--
-- KEYS[1]  ZSET    index   members: `kind key NUL name NUL id`
-- KEYS[2]  HASH    even    ledger of even hours
-- KEYS[3]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  int     whole   how many members have a whole name as key; these members come first
-- ARGV[4]  string  first of the members
-- returns  int     number of entries (a name with its id) that are new in the index
-- include clock
-- include ledger

local _, now_s = clock()
local FIRST = 4
local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end

local whole, scored, new = tonumber(ARGV[3]), {}, 0
for i = FIRST, #ARGV do
  scored[#scored + 1], scored[#scored + 2] = 0, ARGV[i]
end
-- Only the members of whole names are counted: each name has exactly one of them.
new = redis.call('ZADD', KEYS[1], unpack(scored, 1, 2 * whole))
if #scored > 2 * whole then
  redis.call('ZADD', KEYS[1], unpack(scored, 2 * whole + 1))
end
ledger_write(ledger, ARGV[1], ARGV[2], new)
return new
