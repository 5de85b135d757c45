#!lua flags=allow-oom
-- queues/cancel: remove a task that has not ended, and notify the worker that runs it.
--
-- KEYS[1]  HASH    bodies  id -> envelope
-- KEYS[2]  HASH    state   id -> token:attempts:crashes:priority:expires:parked:note
-- KEYS[3]  ZSET    leases  running ids, scored by when the lease ends (ms)
-- KEYS[4]  ZSET    dead    ids, scored by when they died (ms)
-- KEYS[5]  ZSET    due_h   ids, scored by when they may run (ms)
-- KEYS[6]  ZSET    due_m
-- KEYS[7]  ZSET    due_l
-- KEYS[8]  HASH    awaited  id -> channels to notify when the task ends
-- KEYS[9]  ZSET    expiring  queued ids that must not start any more from then on (ms)
-- KEYS[10] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[11] HASH    even    ledger of even hours
-- KEYS[12] HASH    odd     ledger of odd hours
-- KEYS[13] STRING  result  of this task, once it has ended
-- ARGV[1]  string  writer
-- ARGV[2]  int     number
-- ARGV[3]  string  id
-- ARGV[4]  int     kept_ms  how long its status is kept
-- returns  int     1 if this call cancelled it, 0 if it had ended before or is unknown
-- include clock
-- include ledger
-- include awaiting

local bodies, state, leases, dead, result = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[13]
local due = {KEYS[5], KEYS[6], KEYS[7]}
local id = ARGV[3]
local now_ms, now_s = clock()

local ledger = ledger_at(KEYS[11], KEYS[12], now_s)
local answer = ledger_answer(ledger, ARGV[1], ARGV[2], '^%d+$')
if answer then
  return tonumber(answer)
end

-- Removes the id from where it is. A search in a ready list would be slow: there the id stays as a
-- tombstone, which is skipped when its turn comes.
local function remove(record)
  if redis.call('ZREM', leases, id) == 1 then
    local token, channel = record:match('^(%d+):%d+:%d+:[123]:%d+:%d+:(%S+)')
    if channel then
      redis.pcall('SPUBLISH', channel, token .. ' ' .. id)
    end
    return
  end
  for priority = 1, 3 do
    if redis.call('ZREM', due[priority], id) == 1 then
      return
    end
  end
  redis.call('SADD', KEYS[10], id)
end

local cancelled = 0
if redis.call('HEXISTS', bodies, id) == 1 and not redis.call('ZSCORE', dead, id) then
  local record = redis.call('HGET', state, id) or ''
  remove(record)
  redis.call('ZREM', KEYS[9], id)
  redis.call('HDEL', bodies, id)
  redis.call('HDEL', state, id)
  local attempts = record:match('^%d+:(%d+):') or '0'
  redis.call('SET', result, string.format('cancelled:%s:%.0f:', attempts, now_ms), 'PX', ARGV[4])
  notify_awaiting(awaited_in(KEYS[8]), id)
  cancelled = 1
end
ledger_write(ledger, ARGV[1], ARGV[2], cancelled)
return cancelled
