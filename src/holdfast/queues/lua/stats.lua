#!lua flags=no-writes
-- queues/stats: count the tasks of a queue by state.
--
-- KEYS[1]  LIST    ready_h
-- KEYS[2]  LIST    ready_m
-- KEYS[3]  LIST    ready_l
-- KEYS[4]  ZSET    due_h
-- KEYS[5]  ZSET    due_m
-- KEYS[6]  ZSET    due_l
-- KEYS[7]  ZSET    leases
-- KEYS[8]  ZSET    dead
-- KEYS[9]  ZSET    idle
-- KEYS[10] SET     tombstones  ids of cancelled tasks that are still in a ready list
-- KEYS[11] HASH    settings   paused, capacity, layout
-- KEYS[12] HASH    bodies     id -> envelope
-- KEYS[13] ZSET    limited    tasks that wait for a permit of their limit key
-- returns  array   ready (with those that are due, and those that wait for a permit), delayed, running, dead, idle
--                  workers, paused (1 or 0), capacity (0: no limit), since when the oldest ready task is queued
--                  (ms; 0: unknown), how many tasks wait for a permit of their limit key, the limit of the queue
--                  ('' if there is none), the layout ('' if there is none)
-- include clock

local now_ms = clock()

local function sum(command, from, to, ...)
  local total = 0
  for i = from, to do
    total = total + redis.call(command, KEYS[i], ...)
  end
  return total
end

-- For the first task of each priority: when it was enqueued (from its envelope), or became due.
local function oldest_ms()
  local oldest = 0
  local function take(at)
    if at and at > 0 and (oldest == 0 or at < oldest) then
      oldest = at
    end
  end
  for priority = 1, 3 do
    local id = redis.call('LINDEX', KEYS[priority], 0)
    local body = id and redis.call('HGET', KEYS[12], id) or ''
    take(tonumber(body:match('.*"ts":%s*(%d+)')))
    local due = redis.call('ZRANGE', KEYS[3 + priority], '-inf', now_ms, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    take(tonumber(due[2] or nil))
  end
  return oldest
end

local due = sum('ZCOUNT', 4, 6, '-inf', now_ms)
return {
  sum('LLEN', 1, 3) - redis.call('SCARD', KEYS[10]) + due + redis.call('ZCARD', KEYS[13]), sum('ZCARD', 4, 6) - due,
  redis.call('ZCARD', KEYS[7]), redis.call('ZCARD', KEYS[8]),
  redis.call('ZCOUNT', KEYS[9], now_ms, '+inf'),
  redis.call('HEXISTS', KEYS[11], 'paused'),
  tonumber(redis.call('HGET', KEYS[11], 'capacity') or 0), string.format('%.0f', oldest_ms()),
  redis.call('ZCARD', KEYS[13]), redis.call('HGET', KEYS[11], 'limit') or '',
  redis.call('HGET', KEYS[11], 'layout') or '',
}
