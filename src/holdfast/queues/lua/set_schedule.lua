#!lua flags=allow-oom
-- queues/set_schedule: pause, resume or remove a schedule.
--
-- KEYS[1]  HASH    schedules       schedule -> definition
-- KEYS[2]  ZSET    schedule_times  schedules, scored by their next instant (ms)
-- KEYS[3]  HASH    schedule_state  schedule -> its record (see parts/schedule_record)
-- KEYS[4]  HASH    even            ledger of even hours
-- KEYS[5]  HASH    odd             ledger of odd hours
-- ARGV[1]  string  writer  with number, identifies this operation in the ledger
-- ARGV[2]  int     number
-- ARGV[3]  string  name     of the schedule
-- ARGV[4]  string  change          'pause', 'resume' or 'remove'
-- ARGV[5]  string  next_ms         of 'resume': its next instant
-- ARGV[6]  string  channel         notified when it is resumed
-- returns  int     1; 0 if there is no such schedule
-- include clock
-- include ledger

local schedules, schedule_times, schedule_state = KEYS[1], KEYS[2], KEYS[3]
local name, change, channel = ARGV[3], ARGV[4], ARGV[6]
local _, now_s = clock()
local ledger = ledger_at(KEYS[4], KEYS[5], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^[01]$')
if answer then
  return tonumber(answer)
end

local next_ms = redis.call('ZSCORE', schedule_times, name)
if next_ms and change == 'remove' then
  redis.call('HDEL', schedules, name)
  redis.call('HDEL', schedule_state, name)
  redis.call('ZREM', schedule_times, name)
elseif next_ms and change == 'pause' then
  redis.call('ZADD', schedule_times, 'inf', name)
elseif next_ms == 'inf' then
  redis.call('ZADD', schedule_times, ARGV[5], name)
  redis.pcall('SPUBLISH', channel, '')
end
answer = next_ms and 1 or 0
ledger_write(ledger, ARGV[1], ARGV[2], answer)
return answer
