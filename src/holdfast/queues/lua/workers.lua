#!lua flags=no-writes
-- queues/workers: list the workers, the most recent heartbeat first.
--
-- KEYS[1]  ZSET    seen     workers, scored by their last heartbeat (ms)
-- KEYS[2]  HASH    workers  worker -> what it serves
-- ARGV[1]  int     limit    at most, 1 to 1000
-- returns  array   three for each: worker, ms since its last heartbeat, what it serves as JSON
-- include clock

local now_ms = clock()
local workers, out = KEYS[2], {}
local found = redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1, 'REV', 'WITHSCORES')
for i = 1, #found, 2 do
  local worker, silent_ms = found[i], math.max(0, now_ms - tonumber(found[i + 1]))
  out[#out + 1] = worker
  out[#out + 1] = string.format('%.0f', silent_ms)
  out[#out + 1] = redis.call('HGET', workers, worker) or ''
end
return out
