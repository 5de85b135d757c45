#!lua flags=allow-oom
-- queues/renew: extend the leases of running tasks.
--
-- KEYS[1]  HASH    bodies    id -> envelope; a cancelled task has none
-- KEYS[2]  HASH    state     id -> token:...
-- KEYS[3]  ZSET    leases    running ids, scored by when the lease ends (ms)
-- ARGV[1]  int     lease_ms  life from now
-- ARGV[2]  string  first of the leases, two arguments each: id, token
-- returns  array   id and token of each lost lease: another worker has the task, or it was cancelled
-- include clock

local now_ms = clock()
local FIRST = 2
local lost = {}
for i = FIRST, #ARGV, 2 do
  local id = ARGV[i]
  local token = (redis.call('HGET', KEYS[2], id) or ''):match('^(%d+):')
  if token == ARGV[i + 1] and redis.call('HEXISTS', KEYS[1], id) == 1
    and redis.call('ZSCORE', KEYS[3], id) then
    redis.call('ZADD', KEYS[3], 'XX', 'GT', now_ms + tonumber(ARGV[1]), id)
  else
    lost[#lost + 1] = id
    lost[#lost + 1] = ARGV[i + 1]
  end
end
return lost
