#!lua flags=allow-oom
-- queues/await: where one task is; and as long as it has not ended, who wants to be told.
--
-- KEYS[1]  HASH    bodies  id -> envelope
-- KEYS[2]  HASH    state   id -> token:attempts:crashes:priority:expires:parked:note
-- KEYS[3]  ZSET    leases  running ids, scored by when the lease ends (ms)
-- KEYS[4]  ZSET    dead    ids, scored by when they died (ms)
-- KEYS[5]  ZSET    due_h   ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  STRING  result  of this task, once it has ended
-- KEYS[9]  HASH    awaited  id -> channels to tell when it ends
-- ARGV[1]  string  id
-- ARGV[2]  string  channel  where its process is rung
-- returns  array   as of queues/status
-- include clock

local bodies, state, leases, dead, result = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[8]
local due = {KEYS[5], KEYS[6], KEYS[7]}
local awaited, id, channel = KEYS[9], ARGV[1], ARGV[2]
local AWAITED_MS = 60000     -- whoever waits asks again every second
local AWAITING_BYTES = 4096  -- more wait for one task: the first ones, mostly gone, are not told
-- include standing

local found = standing(id, now_ms)
if found[1] == 'queued' or found[1] == 'delayed' or found[1] == 'running' then
  local channels = redis.call('HGET', awaited, id) or ''
  if not (channels .. ' '):find(' ' .. channel .. ' ', 1, true) then
    channels = (channels .. ' ' .. channel):sub(-AWAITING_BYTES):match(' .*')
    redis.call('HSET', awaited, id, channels)
  end
  redis.call('PEXPIRE', awaited, AWAITED_MS)
end
return found
