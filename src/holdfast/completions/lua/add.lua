#!lua
-- completions/add: add names to the index.
--
-- KEYS[1]  ZSET    index   members: `kind key NUL name NUL id`
-- KEYS[2]  HASH    even    ledger of even hours
-- KEYS[3]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  int     whole   how many of the members have a whole name as key; they come first
-- ARGV[4]  string  first of the members
-- returns  int     how many names are new
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
new = redis.call('ZADD', KEYS[1], unpack(scored, 1, 2 * whole))
if #scored > 2 * whole then
  redis.call('ZADD', KEYS[1], unpack(scored, 2 * whole + 1))
end
ledger_write(ledger, ARGV[1], ARGV[2], new)
return new
