#!lua
-- messages/send: a member of a chat says something.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, keep, idle_ms, since, counted
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  members, scored by what they have acknowledged
-- KEYS[4]  HASH    active   member -> last sign of life (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  bell     channel of the chat
-- ARGV[4]  string  sender
-- ARGV[5]  string  body
-- ARGV[6]  string  trace    in which it is sent; left out: in none
-- returns  string  the number of the message; or missing, stranger
-- include clock
-- include ledger

local meta, log, cursors, active = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local bell, sender, body = ARGV[3], ARGV[4], ARGV[5]
-- include log
-- include life
-- include retention

local ledger = ledger_at(KEYS[5], KEYS[6], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2])
if answer then
  return answer
end
if not epoch then
  return 'missing'
end
local cursor = tonumber(redis.call('ZSCORE', cursors, sender) or nil)
if not cursor then
  return 'stranger'
end
append(sender, body, ARGV[6] or '', keep or MOST)
if cursor == top - 1 then  -- who had read everything has read its own message too
  redis.call('ZADD', cursors, top, sender)
end
if until_read then
  show_life(sender)
  retain(nil)
end
remember()
live_on()
local number = text(top)
ledger_write(ledger, ARGV[1], ARGV[2], number)
redis.pcall('SPUBLISH', bell, number)
return number
