#!lua flags=no-writes
-- queues/status: return the state of one task.
--
-- KEYS[1]  HASH    bodies  id -> envelope
-- KEYS[2]  HASH    state   id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[3]  ZSET    leases  running ids, scored by when the lease ends (ms)
-- KEYS[4]  ZSET    dead    ids, scored by when they died (ms)
-- KEYS[5]  ZSET    due_h   ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[9]  HASH    progress  id -> number:bytes:progress
-- KEYS[10] STRING  result  of this task, once it has ended
-- ARGV[1]  string  id
-- returns  array   state (queued, limited, delayed, running, dead, ended, unknown), instant (ms), record,
--                  envelope or result, progress (see parts/find_task)
-- include clock
-- include find_task

local queue = {
  bodies = KEYS[1], state = KEYS[2], leases = KEYS[3], dead = KEYS[4],
  due = {KEYS[5], KEYS[6], KEYS[7]}, limited = KEYS[8], progress = KEYS[9], result = KEYS[10],
}
local now_ms = clock()
return find_task(queue, ARGV[1], now_ms)
