#!lua
-- queues/call_once: enqueue a callback of a group, or a member of a chain, at most once. A repeated call enqueues
-- nothing, even if the task has ended since. The capacity of the queue is not checked.
--
-- KEYS[1]  HASH    bodies   id -> envelope
-- KEYS[2]  LIST    ready_h  ids, the next one first
-- KEYS[3]  LIST    ready_m
-- KEYS[4]  LIST    ready_l
-- KEYS[5]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  ZSET    idle     channels of idle workers, scored by when they are forgotten (ms)
-- KEYS[9]  ZSET    expiring  queued ids, scored by when they expire (ms)
-- KEYS[10] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[11] HASH    settings  the definitions of limits
-- KEYS[12] HASH    limit_keys  the limit keys in use
-- KEYS[13] ZSET    admitted  tasks that have a permit of their limit key
-- KEYS[14] ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[15] STRING  called   exists if a group has enqueued the task
-- ARGV[1]  string  id
-- ARGV[2]  int     priority  1 high, 2 medium, 3 low
-- ARGV[3]  string  wait     as in queues/enqueue
-- ARGV[4]  string  expires  as in queues/enqueue
-- ARGV[5]  string  envelope
-- ARGV[6]  int     kept_ms  how long it is remembered that the task was enqueued
-- returns  int     1 if this call enqueued it, otherwise 0
-- include clock
-- include notify
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
-- include admit
-- include enter
-- include add_tasks

local id, priority, wait, expires, envelope = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local now_ms, _, now_us = clock()
if redis.call('EXISTS', KEYS[15]) == 1 then
  return 0
end
redis.call('SET', KEYS[15], '', 'PX', ARGV[6])
local queue = with_writes({
  bodies = KEYS[1], ready = {KEYS[2], KEYS[3], KEYS[4]}, due = {KEYS[5], KEYS[6], KEYS[7]}, idle = KEYS[8],
  expiring = KEYS[9], tombstones = tombstones_in(KEYS[10]), keys = {tombstones = KEYS[10]}, settings = KEYS[11],
  limit_keys = KEYS[12], admitted = KEYS[13], limited = KEYS[14], now_ms = now_ms, now_us = now_us,
})
local batch = task_batch()
add_task(queue, batch, id, priority, wait, expires, envelope)
write_tasks(queue, batch)
return 1
