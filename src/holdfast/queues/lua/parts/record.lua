-- What a queue remembers of a task from its first claim on (see queues/keys.py).
-- Expects: awaiting.
--
-- *step* has the keys of the queue, `now_ms`, and in `ended` how many tasks have ended.

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

local function move_to_dead(step, id, task, reason)
  step.ended.dead = step.ended.dead + 1
  write_record(step, id, task, reason)
  redis.call('ZADD', step.dead, step.now_ms, id)
  notify_awaiting(step.awaited, id)
end

-- Stores the *text* of a done task under *result* for *ms*; 0: no result is wanted.
local function settle_done(step, id, record, ms, text, result)
  if ms > 0 then
    local attempts = record:match('^%d+:(%d+)') or '0'
    local stored = 'done:' .. attempts .. ':' .. string.format('%.0f', step.now_ms) .. ':' .. text
    redis.call('SET', result, stored, 'PX', ms)
  else
    redis.call('DEL', result)  -- that of an earlier task of this id
  end
  step.ended.done = step.ended.done + 1
  notify_awaiting(step.awaited, id)
end
