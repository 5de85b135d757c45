#!lua flags=allow-oom
-- locks/renew: renew leases. This also confirms grants to waiters.
--
-- KEYS[1]  HASH    state     uncontended, ends_ms; it expires a week after the last renewal
-- KEYS[2]  ZSET    holders   ids, scored by when their lease ends (ms); `?id`: grant not confirmed
-- ARGV[1]  int     lease_ms  life of the leases from now (ms)
-- ARGV[2]  string  first of the leases, two arguments each: id, fence
-- returns  array   id and fence of each lease that is lost: id, fence, id, fence, …
-- include clock

local state, holders, lease_ms = KEYS[1], KEYS[2], tonumber(ARGV[1])
local FIRST = 2
local now_ms = clock()
local KEPT_MS = 7 * 86400 * 1000
local known = redis.call('HMGET', state, 'uncontended', 'ends_ms')
local ends_ms = tonumber(known[2]) or 0
if not (ends_ms > 0 and ends_ms < 2 ^ 53) then
  ends_ms = 0  -- The field is missing or damaged: use only the new end of the lease.
end
local lost = {}
for i = FIRST, #ARGV, 2 do
  local id = ARGV[i]
  -- A holder with an expired lease keeps its permit if the permit was not taken back yet.
  if known[1] == id then
    redis.call('HSET', state, 'ends_ms', math.max(ends_ms, now_ms + lease_ms))
  elseif redis.call('ZREM', holders, '?' .. id) == 1 or redis.call('ZSCORE', holders, id) then
    redis.call('ZADD', holders, 'GT', now_ms + lease_ms, id)
  else
    lost[#lost + 1] = id
    lost[#lost + 1] = ARGV[i + 1]
  end
end
redis.call('PEXPIRE', state, KEPT_MS)
redis.call('PEXPIRE', holders, KEPT_MS)
return lost
