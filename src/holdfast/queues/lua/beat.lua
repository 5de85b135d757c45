#!lua
-- queues/beat: a worker is there.
--
-- KEYS[1]  ZSET    seen    workers, scored by their last sign of life (ms)
-- KEYS[2]  HASH    crew    worker -> what it serves
-- ARGV[1]  string  worker
-- ARGV[2]  string  about   what it serves, as JSON
-- returns  int     1, or 0 when too many are known
-- include clock

local now_ms = clock()
local KEPT_MS = 300000   -- for so long a worker that vanished is shown as such
local MOST = 10000       -- workers; more are not shown
local FORGOTTEN = 100    -- vanished ones that are dropped at a time

local seen, crew, worker = KEYS[1], KEYS[2], ARGV[1]
for _, gone in ipairs(redis.call('ZRANGE', seen, '-inf', now_ms - KEPT_MS, 'BYSCORE', 'LIMIT', 0, FORGOTTEN)) do
  redis.call('ZREM', seen, gone)
  redis.call('HDEL', crew, gone)
end
if redis.call('ZCARD', seen) >= MOST and not redis.call('ZSCORE', seen, worker) then
  return 0
end
redis.call('ZADD', seen, now_ms, worker)
redis.call('HSET', crew, worker, ARGV[2])
redis.call('PEXPIRE', seen, KEPT_MS)
redis.call('PEXPIRE', crew, KEPT_MS)
return 1
