#!lua flags=allow-oom
-- queues/await: return the state of one task. If it has not ended, note a channel that is notified when it ends.
--
-- KEYS[1]  HASH    bodies  id -> envelope
-- KEYS[2]  HASH    state   id -> token:attempts:crashes:priority:expires:parked:snoozes:note
-- KEYS[3]  ZSET    leases  running ids, scored by when the lease ends (ms)
-- KEYS[4]  ZSET    dead    ids, scored by when they died (ms)
-- KEYS[5]  ZSET    due_h   ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  HASH    awaited  id -> channels to notify when the task ends
-- KEYS[9]  ZSET    limited  tasks that wait for a permit of their limit key
-- KEYS[10] HASH    progress  id -> number:bytes:progress
-- KEYS[11] STRING  result  of this task, once it has ended
-- ARGV[1]  string  id
-- ARGV[2]  string  channel  where the process of the caller is notified
-- returns  array   as of queues/status
-- include clock
-- include find_task

local awaited, id, channel = KEYS[8], ARGV[1], ARGV[2]
local AWAITED_MS = 60000     -- a waiting caller repeats this call every second
local AWAITING_BYTES = 4096  -- with more, the oldest channels are dropped: most of their callers are gone

local queue = {
  bodies = KEYS[1], state = KEYS[2], leases = KEYS[3], dead = KEYS[4],
  due = {KEYS[5], KEYS[6], KEYS[7]}, limited = KEYS[9], progress = KEYS[10],
  result = KEYS[11],
}
local now_ms = clock()
local found = find_task(queue, id, now_ms)
if found[1] == 'queued' or found[1] == 'limited' or found[1] == 'delayed' or found[1] == 'running' then
  local channels = redis.call('HGET', awaited, id) or ''
  if not (channels .. ' '):find(' ' .. channel .. ' ', 1, true) then
    channels = (channels .. ' ' .. channel):sub(-AWAITING_BYTES):match(' .*')
    redis.call('HSET', awaited, id, channels)
  end
  redis.call('PEXPIRE', awaited, AWAITED_MS)
end
return found
