#!lua flags=allow-oom
-- messages/ack: acknowledge all messages up to a number. A cursor never decreases.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, last, keep, idle_ms, since, counted
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by the number up to which they have acknowledged
-- KEYS[4]  HASH    active   reader -> when the reader was last active (s since epoch)
-- ARGV[1]  string  reader   the reader
-- ARGV[2]  string  read     last position that the reader got; '': do not check it
-- ARGV[3]  int     upto     number of the last message to acknowledge
-- returns  array   acked
--                  missing: there is no such log
--                  not_member
--                  stale: the server lost the position *read*
--                  beyond, top: there is no message *upto*
-- include clock
-- include stored
-- include log
-- include position
-- include last_seen
-- include retention

local log, cursors = KEYS[2], KEYS[3]
local reader, read, upto = ARGV[1], ARGV[2], tonumber(ARGV[3])
local unit = read_log(KEYS[1], KEYS[2], KEYS[3], KEYS[4], clock())
read_retention(unit)
local epoch, top = unit.epoch, unit.top

if not epoch then
  return {'missing'}
end
local cursor, position = cursor_of(unit, reader), parse_position(read)
if not cursor then
  return {'not_member'}
elseif position and position.epoch ~= epoch then
  return {'stale'}
elseif upto > top then
  return {'beyond', text(top)}
elseif position and not holds(log, epoch, top, unit.last, position) then
  if position.ms ~= '' or upto > math.max(cursor, unit.floor - 1) then
    return {'stale'}
  end
end
redis.call('ZADD', cursors, 'XX', 'GT', text(upto), reader)
if not unit.keep then
  note_active(unit, reader)
end
retain(unit, cursor)
save_bounds(unit)
extend_expiry(unit)
return {'acked'}
