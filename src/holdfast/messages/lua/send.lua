#!lua
-- messages/send: send messages to a chat. Each message has its own result.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, last, keep, idle_ms, since, counted
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  members, scored by the number up to which they have acknowledged
-- KEYS[4]  HASH    active   member -> when the member was last active (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer   writer of the operation, for the ledger
-- ARGV[2]  int     number   number of the operation
-- ARGV[3]  string  channel  channel of the chat
-- ARGV[4]  string  first of the messages, at most 64; for each: its place in the call (a repeated message keeps its
--                  first place), sender, body, trace context ('' if there is none)
-- returns  array   for each message: its number; missing: there is no such chat; or not_member
-- include clock
-- include ledger
-- include stored
-- include log
-- include append
-- include last_seen
-- include retention

local cursors, channel = KEYS[3], ARGV[3]
local unit = read_log(KEYS[1], KEYS[2], KEYS[3], KEYS[4], clock())
read_retention(unit)

local FIRST = 4
local EACH = 4  -- arguments of a message
local ledger = ledger_at(KEYS[5], KEYS[6], unit.now_s)
local earlier = ledger_answer(ledger, ARGV[1], ARGV[2], '^[ =%d]*$')  -- ` PLACE=NUMBER` for each message sent before
local answers, sent, newest = {}, earlier or '', nil
local sender, cursor, reached  -- sender of the current messages, its cursor before them, and after them

-- Saves the cursor of the current sender. If the sender had acknowledged all messages, its own messages do not count as
-- unread.
local function end_sender()
  if reached ~= cursor then
    redis.call('ZADD', cursors, reached, sender)
  end
  if reached and unit.until_read then
    note_active(unit, sender)
  end
end

for i = FIRST, #ARGV, EACH do
  local answer = earlier and earlier:match(' ' .. ARGV[i] .. '=(%d+)')
  if not answer and unit.epoch then
    if ARGV[i + 1] ~= sender then
      end_sender()
      sender = ARGV[i + 1]
      cursor = cursor_of(unit, sender)
      reached = cursor
    end
    if cursor then
      append(unit, sender, ARGV[i + 2], ARGV[i + 3], unit.keep or MOST)
      local top = unit.top
      reached = reached == top - 1 and top or reached
      answer = text(top)
      newest, sent = answer, sent .. ' ' .. ARGV[i] .. '=' .. answer
    else
      answer = 'not_member'
    end
  end
  answers[#answers + 1] = answer or 'missing'
end
if not newest then
  return answers
end
end_sender()
if unit.until_read then
  retain(unit, nil)
end
save_last(unit)
extend_expiry(unit)
ledger_write(ledger, ARGV[1], ARGV[2], sent)
redis.pcall('SPUBLISH', channel, newest)
return answers
