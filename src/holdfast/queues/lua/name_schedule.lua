#!lua
-- queues/name_schedule: note in which queue a schedule is.
--
-- KEYS[1]  HASH    schedule_queues  schedule -> queue
-- ARGV[1]  string  name             of the schedule
-- ARGV[2]  string  queue            where it is to be; '' to forget it
-- ARGV[3]  string  from             the queue that is noted now, and does not count any more; '' for none
-- returns  string  the queue that is noted then; '' if there is none

local schedule_queues, name, queue = KEYS[1], ARGV[1], ARGV[2]
local noted = redis.call('HGET', schedule_queues, name)
if noted and noted ~= ARGV[3] then
  return noted
end
if queue == '' then
  redis.call('HDEL', schedule_queues, name)
else
  redis.call('HSET', schedule_queues, name, queue)
end
return queue
