#!lua flags=no-writes
-- queues/next_due: return how long it takes until the next task may be claimed.
--
-- KEYS[1]  LIST    ready_h  ids, the next one first
-- KEYS[2]  LIST    ready_m
-- KEYS[3]  LIST    ready_l
-- KEYS[4]  ZSET    due_h    ids, scored by when they may run (ms)
-- KEYS[5]  ZSET    due_m
-- KEYS[6]  ZSET    due_l
-- returns  int     ms until then, 0 for now, -1 if no task is queued or delayed
-- include clock

local now_ms = clock()
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then
  return 0
end
local wait_ms = -1
for priority = 1, 3 do
  local first = redis.call('ZRANGE', KEYS[3 + priority], 0, 0, 'WITHSCORES')
  if first[2] then
    local ms = math.max(0, tonumber(first[2]) - now_ms)
    wait_ms = wait_ms < 0 and ms or math.min(ms, wait_ms)
  end
end
return wait_ms
