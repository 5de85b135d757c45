#!lua flags=no-writes
-- queues/workers: who is there, the latest seen first.
--
-- KEYS[1]  ZSET    seen    workers, scored by their last sign of life (ms)
-- KEYS[2]  HASH    crew    worker -> what it serves
-- ARGV[1]  int     limit   at most, 1 to 1000
-- returns  array   three for each: worker, ms since its last sign of life, what it serves as JSON
-- include clock

local now_ms = clock()
local out = {}
local found = redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1, 'REV', 'WITHSCORES')
for i = 1, #found, 2 do
  local silent_ms = math.max(0, now_ms - tonumber(found[i + 1]))
  for _, part in ipairs({found[i], string.format('%.0f', silent_ms), redis.call('HGET', KEYS[2], found[i]) or ''}) do
    out[#out + 1] = part
  end
end
return out
