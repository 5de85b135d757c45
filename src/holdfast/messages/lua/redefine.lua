#!lua
-- messages/redefine: change settings of a mailbox or chat.
--
-- KEYS[1]  HASH    meta     epoch, top, floor and the settings
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by the number up to which they have acknowledged
-- KEYS[4]  HASH    active   reader -> when the reader was last active (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer   writer of the operation, for the ledger
-- ARGV[2]  int     number   number of the operation
-- ARGV[3]  string  owner    owner of a mailbox, which is created if it does not exist; '' for a chat
-- ARGV[4]  string  first of the settings, two arguments each: name, value
-- returns  string  done; missing: there is no such chat
-- include clock
-- include ledger
-- include stored
-- include log

local meta, cursors = KEYS[1], KEYS[3]
local owner = ARGV[3]
local unit = read_log(KEYS[1], KEYS[2], KEYS[3], KEYS[4], clock())

local ledger = ledger_at(KEYS[5], KEYS[6], unit.now_s)
if ledger_answer(ledger, ARGV[1], ARGV[2]) then
  return 'done'
end
if not unit.epoch and owner == '' then
  return 'missing'
elseif not unit.epoch then
  begin(unit)
  redis.call('ZADD', cursors, 0, owner)
end
local FIRST = 4
for i = FIRST, #ARGV, 2 do
  redis.call('HSET', meta, ARGV[i], ARGV[i + 1])
  if ARGV[i] == 'keep' then  -- all members count as active at the time of this change
    redis.call('HSET', meta, 'since', text(unit.now_ms))
  end
end
extend_expiry(unit)
ledger_write(ledger, ARGV[1], ARGV[2], 'done')
return 'done'
