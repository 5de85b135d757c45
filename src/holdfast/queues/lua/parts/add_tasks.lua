-- Adds tasks to a queue.
-- Expects: notify, tombstones.
--
-- *queue* has the keys bodies, ready and due (three each, by priority), expiring and idle; tombstones,
-- as `tombstones_in` returns it; now_ms and now_us.

-- Returns an empty batch. `write_tasks` stores all of it with one command for each key.
local function task_batch()
  return {bodies = {}, ready = {{}, {}, {}}}
end

-- Returns the instant that a wait ('+ms' from now, '@ms' since 1970) stands for, in ms; never early.
local function epoch_ms_of(queue, wait)
  local base = wait:sub(1, 1) == '+' and math.ceil(queue.now_us / 1000) or 0
  return base + tonumber(wait:sub(2))
end

-- Adds one task to *batch*. *wait* and *expires* are as in the header of enqueue.lua.
local function add_task(queue, batch, id, priority, wait, expires, envelope)
  if wait ~= '0' then
    redis.call('ZADD', queue.due[priority], epoch_ms_of(queue, wait), id)
  elseif has_tombstone(queue.tombstones, id) then
    redis.call('ZADD', queue.due[priority], queue.now_ms, id)
  else
    table.insert(batch.ready[priority], id)
  end
  if expires ~= '0' then
    redis.call('ZADD', queue.expiring, epoch_ms_of(queue, expires), id)
  end
  table.insert(batch.bodies, id)
  table.insert(batch.bodies, envelope)
end

-- Stores the tasks of *batch*, which is empty then, and notifies an idle worker.
local function write_tasks(queue, batch)
  if #batch.bodies == 0 then
    return
  end
  redis.call('HSET', queue.bodies, unpack(batch.bodies))
  for priority = 1, 3 do
    if #batch.ready[priority] > 0 then
      redis.call('RPUSH', queue.ready[priority], unpack(batch.ready[priority]))
    end
  end
  batch.bodies, batch.ready = {}, {{}, {}, {}}
  notify_one(queue.idle, queue.now_ms)
end
