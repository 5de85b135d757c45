#!lua
-- completions/touch: put a name first in the list of recent names.
--
-- KEYS[1]  LIST    names   the latest first
-- KEYS[2]  STRING  limit   how many are kept
-- KEYS[3]  HASH    even    ledger of even hours
-- KEYS[4]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  name
-- ARGV[4]  string  given    the limit that the caller gives; '': none
-- ARGV[5]  int     default  the limit if no client has set one
-- ARGV[6]  int     kept_ms  both keys expire after so long without a touch
-- returns  string  '': done; otherwise nothing has changed, and it is the stored limit
-- include clock
-- include ledger
-- include stored

local _, now_s = clock()
local ledger = ledger_at(KEYS[3], KEYS[4], now_s)
if ledger_answer(ledger, ARGV[1], ARGV[2]) then
  return ''
end

local given = ARGV[4]
local stored = redis.call('GET', KEYS[2])
if stored and given ~= '' and stored ~= given then
  return stored
end
redis.call('LINDEX', KEYS[1], 0)  -- raises an error for a wrong type before anything is written
if given ~= '' and not stored then
  stored = given
  redis.call('SET', KEYS[2], given)
end
local limit = whole(stored or ARGV[5], 1, 1000, 'the limit', KEYS[2])
redis.call('LREM', KEYS[1], 0, ARGV[3])
redis.call('LPUSH', KEYS[1], ARGV[3])
redis.call('LTRIM', KEYS[1], 0, limit - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
ledger_write(ledger, ARGV[1], ARGV[2], 1)
return ''
