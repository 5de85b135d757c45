#!lua
-- locks/set: store a fenced value, unless a value with a later fence is stored.
--
-- KEYS[1]  HASH    fenced  value, fence
-- KEYS[2]  HASH    even    ledger of even hours
-- KEYS[3]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  int     fence   fence of the lease of the writing client
-- ARGV[4]  string  value   the value as JSON
-- returns  string  '': the value was stored
--                  'FENCE': nothing was stored, because the stored fence FENCE is later
-- include clock
-- include ledger
-- include stored

local fenced, fence, value = KEYS[1], ARGV[3], ARGV[4]
local _, now_s = clock()
local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d*$')
if not answer then
  local stored = redis.call('HGET', fenced, 'fence') or '0'
  answer = whole(stored, 0, EXACT, 'fence', fenced) > tonumber(fence) and stored or ''
  if answer == '' then
    redis.call('HSET', fenced, 'value', value, 'fence', fence)
  end
  ledger_write(ledger, ARGV[1], ARGV[2], answer)
end
return answer
