-- What a queue remembers of a task from its first claim on (see queues/keys.py).
-- Expects: awaiting, pace, state, dead, now_ms.

local function parse(text)
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

local function packed(task, note)
  return string.format('%.0f:%d:%d:%d:%.0f:%.0f:%s', task.token, task.attempts, task.crashes,
    task.priority, task.expires, task.parked, note)
end

local function write(id, task, note)
  redis.call('HSET', state, id, packed(task, note))
end

local function bury(id, task, reason)
  ended.dead = ended.dead + 1
  write(id, task, reason)
  redis.call('ZADD', dead, now_ms, id)
  tell_awaiting(id)
end
