#!lua flags=no-writes
-- queues/stats: how many tasks are where.
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
-- returns  array   ready, delayed, running, dead, waiting workers

local function sum(command, from, to)
  local total = 0
  for i = from, to do
    total = total + redis.call(command, KEYS[i])
  end
  return total
end

return {
  sum('LLEN', 1, 3), sum('ZCARD', 4, 6), redis.call('ZCARD', KEYS[7]), redis.call('ZCARD', KEYS[8]),
  redis.call('ZCARD', KEYS[9]),
}
