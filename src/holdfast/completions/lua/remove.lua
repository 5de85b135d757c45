#!lua flags=allow-oom
-- completions/remove: remove a name from the index.
--
-- KEYS[1]  ZSET    index   members: `kind key NUL name NUL id`
-- KEYS[2]  HASH    even    ledger of even hours
-- KEYS[3]  HASH    odd     ledger of odd hours
-- ARGV[1]  string  writer  writer of the operation, for the ledger
-- ARGV[2]  int     number  number of the operation
-- ARGV[3]  string  id      id of the entry; '': all entries with the name
-- ARGV[4]  string  first of the members without their ids; the one of the whole name comes first
-- returns  int     how many entries were removed; if it is AT_ONCE, there may be more
-- include clock
-- include ledger

local _, now_s = clock()
local FIRST = 4
local AT_ONCE = 1000
local ledger = ledger_at(KEYS[2], KEYS[3], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end

local index, id = KEYS[1], ARGV[3]
-- Returns the members that begin with *prefix*: the one with the given id, or at most AT_ONCE.
local function members(prefix)
  if id ~= '' then
    return {prefix .. id}
  end
  return redis.call(
    'ZRANGE', index, '[' .. prefix, '(' .. prefix .. '\255', 'BYLEX', 'LIMIT', 0, AT_ONCE)
end

local gone = 0
-- Remove the members of the whole name last: their number is returned.
for i = #ARGV, FIRST, -1 do
  gone = 0
  for _, member in ipairs(members(ARGV[i])) do
    gone = gone + redis.call('ZREM', index, member)
  end
end
ledger_write(ledger, ARGV[1], ARGV[2], gone)
return gone
