#!lua
-- completions/touch: put a name first in the list of recent names.
--
-- KEYS[1]  LIST    names   the latest first
-- KEYS[2]  STRING  limit   how many names are kept
-- KEYS[3]  HASH    even    ledger of even hours
-- KEYS[4]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  string  name
-- ARGV[4]  string  given    the limit that the caller gives; '': none. `on_conflict` may follow after a space:
--                  error or update; without it, a stored limit is kept
-- ARGV[5]  int     default  the limit if no client has set one
-- ARGV[6]  int     kept_ms  milliseconds after which both keys expire without another touch
-- returns  string  '': the name is the first one now
--                  'kept LIMIT': the same, but the stored LIMIT was used instead of the given one
--                  'conflict LIMIT': nothing was changed, because LIMIT is stored
-- include clock
-- include ledger
-- include stored
-- include definition

local _, now_s = clock()
local ledger = ledger_at(KEYS[3], KEYS[4], now_s)
if ledger_answer(ledger, ARGV[1], ARGV[2]) then
  return ''
end

local given = ARGV[4]
local stored = redis.call('GET', KEYS[2])
local kept, verdict = define(stored, given)
if verdict == 'conflict' then
  return 'conflict ' .. kept
end
local limit = whole(kept or ARGV[5], 1, 1000, 'the limit', KEYS[2])
redis.call('LINDEX', KEYS[1], 0)  -- Raises an error if the type is wrong, before the first write.
if verdict == 'store' then
  redis.call('SET', KEYS[2], kept)
end
redis.call('LREM', KEYS[1], 0, ARGV[3])
redis.call('LPUSH', KEYS[1], ARGV[3])
redis.call('LTRIM', KEYS[1], 0, limit - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('PEXPIRE', KEYS[2], ARGV[6])
ledger_write(ledger, ARGV[1], ARGV[2], 1)
return verdict == 'kept' and 'kept ' .. kept or ''
