#!lua flags=no-writes
-- queues/throughput: return how many tasks ended in each of the last minutes.
--
-- KEYS[1]  HASH    throughput  minute modulo 120 -> minute:done:retried:dead:snoozed:gave_up
-- returns  array   two: the current minute since 1970, and an array with the stored value of each minute
-- include clock

local now_ms = clock()
local values = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 2, #all, 2 do
  values[#values + 1] = all[i]
end
return {math.floor(now_ms / 60000), values}
