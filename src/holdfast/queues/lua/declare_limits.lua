#!lua
-- queues/declare_limits: replace the stored definitions of limits by those that a worker knows. A limit that
-- no task of the queue has used is not stored.
--
-- KEYS[1]  HASH    settings  the definitions of limits
-- KEYS[2]  ZSET    idle      channels of idle workers, scored by when they are forgotten (ms)
-- ARGV[1]  string  first of the limits, two arguments each: name, definition (`concurrency amount per_ms fair`)
-- returns  int     definitions that were changed
-- include clock
-- include notify

local settings, idle = KEYS[1], KEYS[2]
local now_ms = clock()
local FIRST = 1
local changed = 0
for i = FIRST, #ARGV, 2 do
  local field = 'limit:' .. ARGV[i]
  local stored = redis.call('HGET', settings, field)
  if stored and stored ~= ARGV[i + 1] then
    redis.call('HSET', settings, field, ARGV[i + 1])
    changed = changed + 1
  end
end
if changed > 0 then
  -- The next steps admit the tasks that the new definitions allow.
  redis.call('HSET', settings, 'sweep', 0, 'changed', 1)
  notify_one(idle, now_ms)
end
return changed
