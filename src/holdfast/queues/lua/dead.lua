#!lua flags=no-writes
-- queues/dead: the latest dead tasks, with why.
--
-- KEYS[1]  ZSET    dead    ids, scored by when they died (ms)
-- KEYS[2]  HASH    bodies  id -> envelope
-- KEYS[3]  HASH    state   id -> token:attempts:crashes:priority:note
-- ARGV[1]  int     limit   at most, 1 to 1000
-- returns  array   four per task: id, died_ms, state, envelope

local out = {}
local ids = redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1, 'REV', 'WITHSCORES')
for i = 1, #ids, 2 do
  out[#out + 1] = ids[i]
  out[#out + 1] = ids[i + 1]
  out[#out + 1] = redis.call('HGET', KEYS[3], ids[i]) or ''
  out[#out + 1] = redis.call('HGET', KEYS[2], ids[i]) or ''
end
return out
