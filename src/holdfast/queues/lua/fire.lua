#!lua
-- queues/fire: enqueue the due occurrences of schedules, each once, and store their next instants.
-- An occurrence is a pair of schedule and instant. Only a call that knows the stored instant and
-- revision fires it, so a repetition and a slower worker change nothing.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  LIST    ready_h  ids, the next one first
-- KEYS[3]  LIST    ready_m
-- KEYS[4]  LIST    ready_l
-- KEYS[5]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  ZSET    leases   running ids
-- KEYS[9]  ZSET    dead     dead ids
-- KEYS[10] ZSET    idle     channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[11] ZSET    expiring  queued ids, scored by when they expire (ms)
-- KEYS[12] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[13] HASH    settings  capacity, limits
-- KEYS[14] HASH    unique   key -> the task that holds it
-- KEYS[15] HASH    kept     key -> a task that is done and still holds it
-- KEYS[16] HASH    limit_keys  the limit keys in use
-- KEYS[17] ZSET    admitted  tasks that have a permit of their limit key
-- KEYS[18] ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[19] HASH    schedules       schedule -> definition
-- KEYS[20] ZSET    schedule_times  schedules, scored by their next instant (ms)
-- KEYS[21] HASH    schedule_state  schedule -> its record (see parts/schedule_record)
-- KEYS[22] HASH    step_index  id -> the index of its steps (see parts/step_index)
-- ARGV[1]  string  first of the schedules. For each: schedule, revision, instant (the stored one, ms),
--                  last (the last instant that is handled, ms), next (the new instant, ms; '' for
--                  none: the schedule ends), overlap ('skip': enqueue nothing while the last task has
--                  not ended; or 'allow'), missed (how many occurrences to count as missed), tasks
--                  (how many follow); and for each task: id, priority, expires, envelope (as in
--                  enqueue.lua)
-- returns  array   for each schedule: 'fired', 'skipped' (the last task has not ended, or another
--                  task holds the key), 'none' (nothing was to enqueue), 'full' (the queue has no room,
--                  nothing has changed) or 'stale' (this call did not fire it); then the time of the
--                  server (ms)
-- include clock
-- include notify
-- include definition
-- include capacity
-- include tombstones
-- include limit
-- include limit_key
-- include write_keys
-- include write_limits
-- include key_of
-- include starts
-- include turns
-- include idle_keys
-- include keep_apart
-- include read_ahead
-- include admit
-- include enter
-- include add_tasks
-- include unique
-- include step_index
-- include key_holder
-- include enqueue_unique
-- include admit_next
-- include freed_slots
-- include give_back
-- include remove_limited
-- include waiting_task
-- include change_task
-- include schedule_record
-- include fire_task
-- include fire_one

local FIRST = 1
local FIELDS, TASK_FIELDS = 8, 4
local now_ms, _, now_us = clock()
local queue = with_writes({
  bodies = KEYS[1], ready = {KEYS[2], KEYS[3], KEYS[4]}, due = {KEYS[5], KEYS[6], KEYS[7]},
  leases = KEYS[8], dead = KEYS[9], idle = KEYS[10], expiring = KEYS[11],
  tombstones = tombstones_in(KEYS[12]), keys = {tombstones = KEYS[12]}, unique = KEYS[14], kept = KEYS[15],
  settings = KEYS[13], limit_keys = KEYS[16], admitted = KEYS[17], limited = KEYS[18],
  schedules = KEYS[19], schedule_times = KEYS[20], schedule_state = KEYS[21], step_index = KEYS[22],
  now_ms = now_ms, now_us = now_us,
})
local capacity = capacity_of(KEYS[13], redis.call('HGET', KEYS[13], 'capacity'), '')
local room = capacity > 0 and capacity - waiting_tasks(queue.bodies, queue.leases, queue.dead)
local batch, reply, i = task_batch(), {}, FIRST
while i <= #ARGV do
  local order = {
    name = ARGV[i], revision = tonumber(ARGV[i + 1]), instant = tonumber(ARGV[i + 2]),
    last = tonumber(ARGV[i + 3]), next_ms = ARGV[i + 4], overlap = ARGV[i + 5],
    missed = tonumber(ARGV[i + 6]), tasks = tonumber(ARGV[i + 7]), first = i + FIELDS,
  }
  local answer = fire_one(queue, batch, order, ARGV, room)
  if answer == 'fired' and room then
    room = room - order.wanted
  end
  reply[#reply + 1] = answer
  i = i + FIELDS + TASK_FIELDS * order.tasks
end
write_tasks(queue, batch)
reply[#reply + 1] = now_ms
return reply
