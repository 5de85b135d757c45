#!lua flags=allow-oom
-- messages/ack: acknowledge messages of one or several logs for a reader, up to a number in each. A cursor never
-- decreases.
--
-- KEYS[1]  HASH    meta     first of the logs, four keys each: epoch, top, floor, last, keep, idle_ms, since, counted
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by the number up to which they have acknowledged
-- KEYS[4]  HASH    active   reader -> when the reader was last active (s since epoch)
-- ARGV[1]  string  reader   the reader
-- ARGV[2]  string  first of the logs, two arguments each: the last position that the reader got ('': do not check it),
--                  and the number of the last message to acknowledge
-- returns  array   for each log an array:
--                  acked
--                  missing: there is no such log
--                  not_member
--                  stale: the server lost the position
--                  beyond, top: there is no such message
--                  failed: one of several logs is damaged; a call for this log alone raises the error
-- include clock
-- include stored
-- include log
-- include position
-- include last_seen
-- include retention

local reader = ARGV[1]
local now_ms, now_s, now_us = clock()

-- Acknowledges the messages of a log up to the number *upto*. Returns the reply for it.
local function acknowledge(unit, read, upto)
  read_retention(unit)
  local epoch, top, floor = unit.epoch, unit.top, unit.floor
  if not epoch then
    return {'missing'}
  end
  local cursor = cursor_of(unit, reader)
  local position = not is_newest(read:sub(2), epoch, top, unit.last) and parse_position(read)
  if not cursor then
    return {'not_member'}
  elseif position and position.epoch ~= epoch then
    return {'stale'}
  elseif upto > top then
    return {'beyond', text(top)}
  elseif position and not holds(unit.log, epoch, top, unit.last, position) then
    if position.ms ~= '' or upto > math.max(cursor, floor - 1) then
      return {'stale'}
    end
  end
  if upto > cursor then
    redis.call('ZADD', unit.cursors, 'XX', 'GT', text(upto), reader)
  end
  if not unit.keep then
    note_active(unit, reader)
  end
  retain(unit, cursor)
  if unit.floor ~= floor then
    save_bounds(unit)
  end
  extend_expiry(unit)
  return {'acked'}
end

local function acknowledge_in(i, read, upto)
  local unit = read_log(KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3], now_ms, now_s, now_us)
  return acknowledge(unit, read, upto)
end

local FIRST = 2
local is_alone = #ARGV == FIRST + 1
local replies = {}
for i = FIRST, #ARGV, 2 do
  local first, upto = 4 * #replies + 1, tonumber(ARGV[i + 1])
  if is_alone then
    replies[1] = acknowledge_in(first, ARGV[i], upto)
  else
    local done, reply = pcall(acknowledge_in, first, ARGV[i], upto)
    replies[#replies + 1] = done and reply or {'failed'}
  end
end
return replies
