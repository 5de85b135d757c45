#!lua
-- messages/send: members of a chat say something, each message as if it came alone.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, last, keep, idle_ms, since, counted
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  members, scored by what they have acknowledged
-- KEYS[4]  HASH    active   member -> last sign of life (s since epoch)
-- KEYS[5]  HASH    even     ledger of even hours
-- KEYS[6]  HASH    odd      ledger of odd hours
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  bell     channel of the chat
-- ARGV[4]  string  first of the messages, 64 at most; for each: its place among those that were sent
--                  together, sender, body, trace in which it is sent ('' in none)
-- returns  array   for each message its number; or missing, stranger
-- include clock
-- include ledger
-- include stored
-- include log
-- include append
-- include last_seen
-- include retention

local cursors, bell = KEYS[3], ARGV[3]
local unit = read_log(KEYS[1], KEYS[2], KEYS[3], KEYS[4], clock())
read_retention(unit)

local FIRST = 4
local EACH = 4  -- as the header says
local ledger = ledger_at(KEYS[5], KEYS[6], unit.now_s)
local earlier = ledger_answer(ledger, ARGV[1], ARGV[2], '^[ =%d]*$')  -- ` place=number` of what was applied
local answers, said, newest = {}, earlier or '', nil
local sender, cursor, reached  -- who is speaking, where it stood, and where it stands now

-- Who had read everything has read its own messages too.
local function falls_silent()
  if reached ~= cursor then
    redis.call('ZADD', cursors, reached, sender)
  end
  if reached and unit.until_read then
    show_life(unit, sender)
  end
end

for i = FIRST, #ARGV, EACH do
  local answer = earlier and earlier:match(' ' .. ARGV[i] .. '=(%d+)')
  if not answer and unit.epoch then
    if ARGV[i + 1] ~= sender then
      falls_silent()
      sender = ARGV[i + 1]
      cursor = cursor_of(unit, sender)
      reached = cursor
    end
    if cursor then
      append(unit, sender, ARGV[i + 2], ARGV[i + 3], unit.keep or MOST)
      local top = unit.top
      reached = reached == top - 1 and top or reached
      answer = text(top)
      newest, said = answer, said .. ' ' .. ARGV[i] .. '=' .. answer
    else
      answer = 'stranger'
    end
  end
  answers[#answers + 1] = answer or 'missing'
end
if not newest then
  return answers
end
falls_silent()
if unit.until_read then
  retain(unit, nil)
end
remember_last(unit)
live_on(unit)
ledger_write(ledger, ARGV[1], ARGV[2], said)
redis.pcall('SPUBLISH', bell, newest)
return answers
