#!lua flags=no-writes
-- queues/schedules: return schedules of a queue, the next to fire first.
--
-- KEYS[1]  HASH    schedules       schedule -> definition
-- KEYS[2]  ZSET    schedule_times  schedules, scored by their next instant (ms)
-- KEYS[3]  HASH    schedule_state  schedule -> its record (see parts/schedule_record)
-- ARGV[1]  int     start           how many to leave out
-- ARGV[2]  int     limit           how many at most, 1 to 1,000
-- ARGV[3]  string  until           only those that are due up to then (ms); `now`, or `+inf` for all
-- returns  array   now_ms, then for each schedule its name, definition, state and next_ms; at last,
--                  the first instant that is later than *until* (`inf` if there is none)
-- include clock

local schedules, schedule_times, schedule_state = KEYS[1], KEYS[2], KEYS[3]
local now_ms = clock()
local latest = ARGV[3] == 'now' and now_ms or ARGV[3]
local found = redis.call('ZRANGE', schedule_times, '-inf', latest, 'BYSCORE', 'LIMIT', ARGV[1], ARGV[2],
  'WITHSCORES')
local reply = {now_ms}
for i = 1, #found, 2 do
  local name = found[i]
  reply[#reply + 1] = name
  reply[#reply + 1] = redis.call('HGET', schedules, name) or ''
  reply[#reply + 1] = redis.call('HGET', schedule_state, name) or ''
  reply[#reply + 1] = found[i + 1]
end
local later = redis.call('ZRANGE', schedule_times, '(' .. latest, '+inf', 'BYSCORE', 'LIMIT', 0, 1,
  'WITHSCORES')
reply[#reply + 1] = later[2] or 'inf'
return reply
