#!lua
-- messages/deliver: put a message into a mailbox, which begins with its first one.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, capacity, overflow, dropped
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  its owner, scored by what was acknowledged
-- KEYS[4]  HASH    active   its owner -> last sign of life (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  bell     channel of the mailbox
-- ARGV[4]  string  owner
-- ARGV[5]  string  sender
-- ARGV[6]  string  body
-- ARGV[7]  string  capacity  as the sender says it is; '' it does not say
-- ARGV[8]  string  overflow  likewise
-- ARGV[9]  string  trace     in which it is sent; left out: in none
-- returns  array   verdict; full: capacity, when the oldest unread message was sent (ms); conflict:
--                  capacity, overflow. Or a string, the number of the message: sent
-- include clock
-- include ledger

local meta, log, cursors, active = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local bell, owner, sender, body = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
-- include log
-- include capacity
-- include entries

local ledger = ledger_at(KEYS[5], KEYS[6], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return answer
end
if not agrees(ARGV[7], ARGV[8]) then
  return {'conflict', capacity, overflow}
end
local cursor = epoch and tonumber(redis.call('ZSCORE', cursors, owner) or nil) or 0
if epoch and overflow == 'reject' and top - math.max(cursor, floor - 1) >= capacity then
  local first = redis.call('XRANGE', log, text(math.max(cursor + 1, floor)), '+', 'COUNT', 1)
  return {'full', capacity, first[1] and sent_ms(first[1]) or ''}
end
if not epoch then
  found()
end
redis.call('ZADD', cursors, 'NX', 0, owner)
if ARGV[7] ~= '' then
  redis.call('HSET', meta, 'capacity', ARGV[7])
end
if ARGV[8] ~= '' then
  redis.call('HSET', meta, 'overflow', ARGV[8])
end
local unread = math.max(cursor + 1, floor)
append(sender, body, ARGV[9] or '', capacity)
if floor > unread then
  redis.call('HSET', meta, 'dropped', text(dropped + floor - unread))
end
remember()
live_on()
local number = text(top)
ledger_write(ledger, ARGV[1], ARGV[2], number)
redis.pcall('SPUBLISH', bell, number)
return number
