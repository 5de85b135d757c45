-- Decides whether a limited task that a step has taken may start.
-- Needs the parts: limit_key, write_limits, key_of, admit, enter, start_limited, keep_apart.

-- Gives a permit to a task with a delay that is over. Returns whether it has one, and may start at once. Keys that take
-- turns do so too for tasks with a delay: such a task is queued as a new one.
local function admit_due(limits, limit, id, priority)
  local key = key_of(limits, limit)
  key.is_new = false
  if not key.definition.fair and has_room(limits, key, priority) then
    redis.call('ZADD', limits.admitted, ADMITTED_KEY * key.slot + priority, id)
    return key
  end
  redis.call('ZREM', limits.due[priority], id)
  enter(limits, limit, id, priority)
  return nil
end

-- Returns one of these for a task that a step has taken:
--   'starts'  the task starts now
--   'waits'   the task has another place in the queue, or is kept apart
--   'later'   the task must not start before an instant (ms), which is the second value
local function start_limited(limits, limit, id, priority)
  local key = limits.slot and limits.by_slot[limits.slot] or admit_due(limits, limit, id, priority)
  if not key then
    return 'waits'
  elseif limits.is_changed and is_full(limits, key) then
    write_limits(limits)
    redis.call('ZREM', limits.admitted, id)
    redis.call('ZREM', limits.due[priority], id)
    keep_apart(limits, key, id, priority)
    return 'waits'
  end
  local until_ms = (key.not_before > 0 or key.definition.amount > 0) and blocked_until(limits, key)
  if until_ms then
    return 'later', until_ms
  end
  start(limits, key, id, priority)
  return 'starts'
end
