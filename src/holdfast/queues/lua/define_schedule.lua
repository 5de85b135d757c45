#!lua
-- queues/define_schedule: store the definition of a schedule, and its next instant.
--
-- KEYS[1]  HASH    schedules       schedule -> definition
-- KEYS[2]  ZSET    schedule_times  schedules, scored by their next instant (ms)
-- KEYS[3]  HASH    schedule_state  schedule -> its record (see parts/schedule_record)
-- KEYS[4]  HASH    even            ledger of even hours
-- KEYS[5]  HASH    odd             ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  name            of the schedule
-- ARGV[4]  string  definition      `d` (code declares it) or `s` (a client stores it), and JSON
-- ARGV[5]  string  next_ms         its next instant, later than the last one; '' to change nothing: a worker
--                                  reports that it still declares this definition
-- ARGV[6]  int     anchor_ms       from when intervals count
-- ARGV[7]  string  channel         notified if something has changed
-- returns  string  'new', 'changed' or 'same'. If next_ms is '': 'same'; 'ended', if the schedule has fired its last
--                  instant; or 'other', if another definition is in force, or none. With nothing stored:
--                  'declared' or 'stored', if the schedule exists and, unlike this definition, is declared
--                  by code or stored by a client; or 'late MS', if next_ms is not after the last instant, MS
-- include clock
-- include ledger
-- include schedule_record

local schedules, schedule_times, schedule_state = KEYS[1], KEYS[2], KEYS[3]
local name, definition, channel = ARGV[3], ARGV[4], ARGV[7]
local now_ms, now_s = clock()
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%l+$')
if answer then
  return answer
end

local stored = redis.call('HGET', schedules, name)
local is_declared = definition:sub(1, 1) == 'd'
if stored and (stored:sub(1, 1) == 'd') ~= is_declared then
  return is_declared and 'stored' or 'declared'
end
local record = (stored or is_declared) and redis.call('HGET', schedule_state, name)
if ARGV[5] == '' and not stored then
  return record and 'ended' or 'other'
end
local schedule = parse_schedule(record)
local next_ms = redis.call('ZSCORE', schedule_times, name)
local is_changed = stored ~= definition or not next_ms
if ARGV[5] == '' then
  is_declared, answer = is_declared and not is_changed, is_changed and 'other' or 'same'
elseif is_changed then
  if tonumber(ARGV[5]) <= schedule.last then
    return 'late ' .. string.format('%.0f', schedule.last)
  end
  schedule.revision, schedule.anchor = schedule.revision + 1, tonumber(ARGV[6])
  redis.call('HSET', schedules, name, definition)
  redis.call('ZADD', schedule_times, next_ms == 'inf' and next_ms or ARGV[5], name)
  redis.pcall('SPUBLISH', channel, '')
  answer = stored and 'changed' or 'new'
else
  answer = 'same'
end
if is_declared then
  schedule.seen = now_ms
end
redis.call('HSET', schedule_state, name, packed_schedule(schedule))
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return answer
