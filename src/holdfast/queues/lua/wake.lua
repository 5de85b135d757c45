#!lua
-- queues/wake: end the sleep or the wait of a task now, for tests that let time pass.
--
-- KEYS[1]  ZSET    due_h   ids, scored by when they may run (ms)
-- KEYS[2]  ZSET    due_m
-- KEYS[3]  ZSET    due_l
-- KEYS[4]  HASH    settings  stepped: set once a task has had steps
-- KEYS[5]  HASH    step_index  id -> the index of its steps (see parts/step_index)
-- ARGV[1]  string  id
-- returns  int     1 if the task was asleep, otherwise 0
-- include clock
-- include step_index
-- include step_record

local due = {KEYS[1], KEYS[2], KEYS[3]}
local keys, id = {settings = KEYS[4], step_index = KEYS[5]}, ARGV[1]
local now_ms = clock()
local index = index_of(keys, id)
for priority = 1, 3 do
  if index.pending[1] and redis.call('ZSCORE', due[priority], id) then
    index.pending[4] = now_ms
    write_index(keys, id, index)
    redis.call('ZADD', due[priority], now_ms, id)
    return 1
  end
end
return 0
