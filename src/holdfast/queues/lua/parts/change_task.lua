-- Puts the arguments and options of a later call into a unique task that waits. The task keeps its id, its
-- attempts and, unless it is postponed, when it may start.
-- Needs the parts: notify, limit, key_of, add_tasks, remove_limited, waiting_task.

-- Stores that the id of a task in its ready list is a tombstone, because the task moves to a due set.
local function leave_ready(queue, id)
  redis.call('SADD', queue.keys.tombstones, id)
  queue.tombstones = queue.keys.tombstones
end

-- Moves a task to a due set if it has another limit key, priority or start from now on. The task loses its place,
-- and is queued like a new task as soon as it is due.
local function move_limited(queue, id, priority, start_ms, before, limit)
  local priority_before, due_at = place_of(queue, id)
  local is_same = before and limit and before.name == limit.name and before.key == limit.key
  if is_same and priority == priority_before and start_ms <= math.max(due_at or 0, queue.now_ms) then
    return
  end
  local is_apart, admitted = remove_limited(queue, id)
  if due_at then
    redis.call('ZREM', queue.due[priority_before], id)
  elseif not is_apart then
    leave_ready(queue, id)
  end
  redis.call('ZADD', queue.due[priority], math.max(start_ms, due_at or queue.now_ms), id)
  if admitted > 0 then
    notify_one(queue.idle, queue.now_ms)
  end
end

-- Moves a task that has no limit, neither before nor after the change.
local function move_unlimited(queue, id, priority, start_ms)
  local priority_before, due_at = place_of(queue, id)
  if due_at then
    redis.call('ZREM', queue.due[priority_before], id)
    redis.call('ZADD', queue.due[priority], start_ms, id)
  elseif start_ms > queue.now_ms or priority ~= priority_before then
    leave_ready(queue, id)
    redis.call('ZADD', queue.due[priority], math.max(start_ms, queue.now_ms), id)
  end
end

-- Gives the waiting task *id* another envelope, priority and expiry and, if it is postponed, another start.
local function change_task(queue, id, unique, priority, wait, expires, envelope)
  local before, limit = limit_of(redis.call('HGET', queue.bodies, id)), limit_of(envelope)
  local _, due_at = place_of(queue, id)
  local start_ms = unique.when == 'postpone' and postponed_ms(queue, unique.key, wait, due_at) or due_at or 0
  if limit then
    define_limit(queue, limit)
  end
  if before or limit then
    move_limited(queue, id, priority, start_ms, before, limit)
  else
    move_unlimited(queue, id, priority, start_ms)
  end
  redis.call('ZREM', queue.expiring, id)
  if expires ~= '0' then
    redis.call('ZADD', queue.expiring, epoch_ms_of(queue, expires), id)
  end
  redis.call('HSET', queue.bodies, id, envelope)
end
