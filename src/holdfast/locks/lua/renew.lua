#!lua flags=allow-oom
-- locks/renew: let holders keep their places; an heir confirms thereby that it has heard.
--
-- KEYS[1]  HASH    state     sole, ends; lives as long as somebody holds
-- KEYS[2]  ZSET    holders   ids, scored by when their place ends (ms); `?id` has not answered yet
-- ARGV[1]  int     lease_ms  life from now
-- ARGV[2]  string  first of the leases, two arguments each: id, fence
-- returns  array   two per place that is lost: id, fence
-- include clock

local state, holders, lease_ms = KEYS[1], KEYS[2], tonumber(ARGV[1])
local FIRST = 2
local now_ms = clock()
local KEPT_MS = 7 * 86400 * 1000
local alone = redis.call('HMGET', state, 'sole', 'ends')
local ends = tonumber(alone[2]) or 0
if not (ends > 0 and ends < 2 ^ 53) then
  ends = 0  -- another program changed it: this holder knows it
end
local lost = {}
for i = FIRST, #ARGV, 2 do
  local id = ARGV[i]
  -- A place that has ended but was not taken back yet is still its holder's.
  if alone[1] == id then
    redis.call('HSET', state, 'ends', math.max(ends, now_ms + lease_ms))
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
