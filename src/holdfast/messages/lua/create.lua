#!lua
-- messages/create: create a chat with its members and its first message.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, last, keep, idle_ms, since, history
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  members, scored by the number up to which they have acknowledged
-- KEYS[4]  HASH    active   member -> when the member was last active (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer   writer of the operation, for the ledger
-- ARGV[2]  int     number   number of the operation
-- ARGV[3]  string  sender   the member who sends the first message
-- ARGV[4]  string  body     body of the first message
-- ARGV[5]  string  keep     number of messages to keep, or until_read
-- ARGV[6]  int     idle_ms  with until_read: time after which messages are not kept for an inactive member
-- ARGV[7]  string  channel  channel of the chat; readers may have subscribed to it before the chat exists
-- ARGV[8]  string  history  since_join; or open: later members may read earlier messages
-- ARGV[9]  string  trace    trace context in which the message is sent; '' if there is none
-- ARGV[10] string  first of the members
-- returns  string  created; exists: nothing was changed
-- include clock
-- include ledger
-- include stored
-- include log
-- include append

local meta, cursors = KEYS[1], KEYS[3]
local sender, body, keep, idle_ms, channel = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local history = ARGV[8]

local unit = read_log(KEYS[1], KEYS[2], KEYS[3], KEYS[4], clock())
local ledger = ledger_at(KEYS[5], KEYS[6], unit.now_s)
if ledger_answer(ledger, ARGV[1], ARGV[2]) then
  return 'created'
end
if unit.epoch then
  return 'exists'
end
begin(unit)
redis.call('HSET', meta, 'keep', keep, 'idle_ms', idle_ms, 'since', text(unit.now_ms))
if history == 'open' then
  redis.call('HSET', meta, 'history', history)
end
local FIRST = 10
for i = FIRST, #ARGV do
  redis.call('ZADD', cursors, ARGV[i] == sender and 1 or 0, ARGV[i])
end
append(unit, sender, body, ARGV[9], 1)
save_last(unit)
extend_expiry(unit)
ledger_write(ledger, ARGV[1], ARGV[2], 1)
redis.pcall('SPUBLISH', channel, text(unit.top))
return 'created'
