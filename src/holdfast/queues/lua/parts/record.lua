-- The record of a task, from its first claim on (see queues/keys.py).
-- Expects: awaiting.
--
-- *step* has the keys of the queue, `now_ms`, and in `ended` how many tasks this step has ended.

local function parse_record(text)
  local token, attempts, crashes, priority, expires, parked, note =
    (text or ''):match('^(%d+):(%d+):(%d+):([123]):(%d+):(%d+):(.*)$')
  return {
    token = tonumber(token) or 0,
    attempts = tonumber(attempts) or 0,
    crashes = tonumber(crashes) or 0,
    priority = tonumber(priority) or 2,
    expires = tonumber(expires) or 0,
    parked = tonumber(parked) or 0,
    note = note or '',
  }
end

local function packed_record(task, note)
  return string.format('%.0f:%d:%d:%d:%.0f:%.0f:%s', task.token, task.attempts, task.crashes,
    task.priority, task.expires, task.parked, note)
end

local function write_record(step, id, task, note)
  redis.call('HSET', step.state, id, packed_record(task, note))
end

local function add_due(step, id, priority, at_ms)
  redis.call('ZADD', step.due[priority], at_ms, id)
  step.has_due[priority] = true
end

local function move_to_dead(step, id, task, reason)
  step.ended.dead = step.ended.dead + 1
  write_record(step, id, task, reason)
  redis.call('ZADD', step.dead, step.now_ms, id)
  notify_awaiting(step.awaited, id)
end
