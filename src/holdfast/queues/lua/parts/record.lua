-- What a queue remembers of a task from its first claim on (see queues/keys.py).
-- Expects: state, dead, now_ms.

local function parse(text)
  local token, attempts, crashes, priority = (text or ''):match('^(%d+):(%d+):(%d+):([123]):')
  return {
    token = tonumber(token) or 0,
    attempts = tonumber(attempts) or 0,
    crashes = tonumber(crashes) or 0,
    priority = tonumber(priority) or 2,
  }
end

local function write(id, task, note)
  redis.call('HSET', state, id, string.format('%.0f:%d:%d:%d:%s',
    task.token, task.attempts, task.crashes, task.priority, note))
end

local function bury(id, task, reason)
  write(id, task, reason)
  redis.call('ZADD', dead, now_ms, id)
end
