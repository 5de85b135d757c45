#!lua flags=allow-oom
-- messages/ack: a reader is done with all messages up to a number. A cursor only rises.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, keep, idle_ms, since, counted
-- KEYS[2]  STREAM  log      number-ms -> sender, body
-- KEYS[3]  ZSET    cursors  readers, scored by what they have acknowledged
-- KEYS[4]  HASH    active   reader -> last sign of life (s since epoch)
-- ARGV[1]  string  reader
-- ARGV[2]  string  read     epoch of what was read; '' it does not say
-- ARGV[3]  int     upto     the number
-- returns  array   verdict: acked; or with nothing changed missing, stranger, stale, beyond: top
-- include clock

local meta, log, cursors, active = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local reader, read, upto = ARGV[1], ARGV[2], tonumber(ARGV[3])
-- include log
-- include life
-- include retention

if not epoch then
  return {'missing'}
end
local cursor = tonumber(redis.call('ZSCORE', cursors, reader) or nil)
if not cursor then
  return {'stranger'}
elseif read ~= '' and read ~= epoch then
  return {'stale'}
elseif upto > top then
  return {'beyond', text(top)}
end
redis.call('ZADD', cursors, 'XX', 'GT', text(upto), reader)
if not keep then
  show_life(reader)
end
retain(cursor)
remember()
live_on()
return {'acked'}
