#!lua
-- counters/redefine: change the definition of a counter.
--
-- KEYS[1]  STRING  definition  `precisions keep`, see counters/keys.py
-- KEYS[2]  HASH    even    ledger of even hours
-- KEYS[3]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  string  precisions  the new precisions (s), ascending, with commas; '': do not change them
-- ARGV[4]  string  keep        samples kept of each precision; '': do not change it
-- ARGV[5]  string  default     the definition that is changed if none is stored
-- returns  int     1
-- include clock
-- include ledger
-- include stored

local _, now_s = clock()
local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
if not ledger_answer(ledger, ARGV[1], ARGV[2]) then
  local stored = redis.call('GET', KEYS[1]) or ARGV[5]
  if (ARGV[3] == '' or ARGV[4] == '') and not stored:match('^[%d,]+ %d%d?%d?%d?$') then
    damaged('the definition', KEYS[1])
  end
  local precisions = ARGV[3] ~= '' and ARGV[3] or string.match(stored, '^%S+')
  local keep = ARGV[4] ~= '' and ARGV[4] or string.match(stored, '%d+$')
  -- The lifetime of the definition, until the next `add` extends it.
  local kept_s = 2 * keep * string.match(precisions, '%d+$')
  redis.call('SET', KEYS[1], precisions .. ' ' .. keep, 'EX', string.format('%.0f', kept_s))
  ledger_write(ledger, ARGV[1], ARGV[2], 1)
end
return 1
