#!lua
-- queues/heartbeat: record that a worker is alive, and what it serves.
--
-- KEYS[1]  ZSET    seen     workers, scored by their last heartbeat (ms)
-- KEYS[2]  HASH    workers  worker -> what it serves
-- ARGV[1]  string  worker
-- ARGV[2]  string  facts    what it serves, as JSON
-- returns  int     1, or 0 when too many workers are listed
-- include clock

local now_ms = clock()
local KEPT_MS = 300000     -- a worker without heartbeats stays listed for so long
local MAX_WORKERS = 10000  -- more are not listed
local MAX_REMOVED = 100    -- silent workers removed in one call

local seen, workers, worker = KEYS[1], KEYS[2], ARGV[1]
for _, silent in ipairs(redis.call('ZRANGE', seen, '-inf', now_ms - KEPT_MS, 'BYSCORE', 'LIMIT', 0, MAX_REMOVED)) do
  redis.call('ZREM', seen, silent)
  redis.call('HDEL', workers, silent)
end
if redis.call('ZCARD', seen) >= MAX_WORKERS and not redis.call('ZSCORE', seen, worker) then
  return 0
end
redis.call('ZADD', seen, now_ms, worker)
redis.call('HSET', workers, worker, ARGV[2])
redis.call('PEXPIRE', seen, KEPT_MS)
redis.call('PEXPIRE', workers, KEPT_MS)
return 1
