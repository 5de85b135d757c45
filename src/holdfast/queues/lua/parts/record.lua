-- The record of a task, from its first claim on (see queues/keys.py).
-- Needs the parts: awaiting, progress, history, member_end, own_key.
-- *step*: see queues/step.

local function parse_record(text)
  local token, attempts, crashes, priority, expires, parked, snoozes, note =
    (text or ''):match('^(%d+):(%d+):(%d+):([123]):(%d+):(%d+):(%d+):(.*)$')
  return {
    token = tonumber(token) or 0,
    attempts = tonumber(attempts) or 0,
    crashes = tonumber(crashes) or 0,
    priority = tonumber(priority) or 2,
    expires = tonumber(expires) or 0,
    parked = tonumber(parked) or 0,
    snoozes = tonumber(snoozes) or 0,
    note = note or '',
    is_unique = notes_unique(note or ''),
  }
end

local function packed_record(task, note)
  return string.format('%.0f:%d:%d:%d:%.0f:%.0f:%d:%s', task.token, task.attempts, task.crashes,
    task.priority, task.expires, task.parked, task.snoozes, note)
end

local function write_record(step, id, task, note)
  redis.call('HSET', step.keys.state, id, packed_record(task, note))
end

-- Writes the record of a task that is queued again. From now on `expiring` watches its expiry.
local function write_queued(step, id, task, note)
  if task.expires > 0 then
    redis.call('ZADD', step.keys.expiring, task.expires, id)
    task.expires, step.any_expiring = 0, true
  end
  write_record(step, id, task, note)
end

local function add_due(step, id, priority, at_ms)
  redis.call('ZADD', step.keys.due[priority], at_ms, id)
  step.has_due[priority] = true
end

-- Moves a task to the dead-letter list, and releases its key. *outcome* is `dead`, or `gave_up` if the
-- task asked for it. `facts` and `worker` of *task* are for the history.
local function move_to_dead(step, id, task, reason, outcome)
  outcome = outcome or 'dead'
  step.counts[outcome] = step.counts[outcome] + 1
  add_to_history(step, id, 'dead', task.attempts, task.crashes, task.facts, task.worker or '', reason)
  if task.is_unique then
    update_key(step, id, 'dead')
  end
  note_member_end(step, id, task.token, 'dead', reason)
  write_record(step, id, task, reason)
  redis.call('ZADD', step.keys.dead, step.now_ms, id)
  notify_awaiting(step.awaited, id)
  notify_dead(step.progress, id)
end
