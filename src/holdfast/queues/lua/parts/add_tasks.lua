-- Adds tasks to a queue.
-- Needs the parts: notify, tombstones, limit, key_of, enter.
--
-- *queue* has the keys bodies, ready and due (three each, by priority), expiring and idle; tombstones,
-- as `tombstones_in` returns it; now_ms and now_us; and the fields of *limits* (see parts/limit).

-- Returns an empty batch. `write_tasks` stores all of it with one command for each key.
local function task_batch()
  return {bodies = {}, ready = {{}, {}, {}}, any_claimable = false}
end

-- Returns the instant that a wait ('+ms' from now, '@ms' since 1970) stands for, in ms; never early.
local function epoch_ms_of(queue, wait)
  local base = wait:sub(1, 1) == '+' and math.ceil(queue.now_us / 1000) or 0
  return base + tonumber(wait:sub(2))
end

-- Stores the ready tasks of *batch* with this priority.
local function write_ready(queue, batch, priority)
  if #batch.ready[priority] > 0 then
    redis.call('RPUSH', queue.ready[priority], unpack(batch.ready[priority]))
    batch.ready[priority] = {}
  end
end

-- Adds one task to *batch*. *wait* and *expires* are as in the header of enqueue.lua.
local function add_task(queue, batch, id, priority, wait, expires, envelope)
  local limit, is_apart = limit_of(envelope), false
  if limit then
    define_limit(queue, limit)
  end
  if wait ~= '0' then
    redis.call('ZADD', queue.due[priority], epoch_ms_of(queue, wait), id)
  elseif limit then
    write_ready(queue, batch, priority)  -- these tasks are before this one
    is_apart = not enter(queue, limit, id, priority)
  elseif has_tombstone(queue.tombstones, id) then
    redis.call('ZADD', queue.due[priority], queue.now_ms, id)
  else
    table.insert(batch.ready[priority], id)
  end
  if expires ~= '0' then
    redis.call('ZADD', queue.expiring, epoch_ms_of(queue, expires), id)
  end
  batch.any_claimable = batch.any_claimable or not is_apart
  table.insert(batch.bodies, id)
  table.insert(batch.bodies, envelope)
end

-- Stores the tasks of *batch*, which is empty then. Notifies an idle worker, unless all tasks are kept apart.
local function write_tasks(queue, batch)
  if #batch.bodies == 0 then
    return
  end
  redis.call('HSET', queue.bodies, unpack(batch.bodies))
  for priority = 1, 3 do
    write_ready(queue, batch, priority)
  end
  if batch.any_claimable then
    notify_one(queue.idle, queue.now_ms)
  end
  batch.bodies, batch.any_claimable = {}, false
end
