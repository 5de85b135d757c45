#!lua flags=no-writes
-- queues/schedule: return one schedule.
--
-- KEYS[1]  HASH    schedules       schedule -> definition
-- KEYS[2]  ZSET    schedule_times  schedules, scored by their next instant (ms)
-- KEYS[3]  HASH    schedule_state  schedule -> its record (see parts/schedule_record)
-- ARGV[1]  string  schedule
-- returns  array   now_ms, definition, state, next_ms; the last three are '' if there is none
-- include clock

return {
  (clock()),
  redis.call('HGET', KEYS[1], ARGV[1]) or '',
  redis.call('HGET', KEYS[3], ARGV[1]) or '',
  redis.call('ZSCORE', KEYS[2], ARGV[1]) or '',
}
