-- What a queue remembers of a task from its first claim on (see queues/keys.py).
-- Expects: state, dead, now_ms.

local function parse(text)
  local token, given_back, crashes, priority = (text or ''):match('^(%d+):(%d+):(%d+):([123]):')
  return {
    token = tonumber(token) or 0,
    given_back = tonumber(given_back) or 0,
    crashes = tonumber(crashes) or 0,
    priority = tonumber(priority) or 2,
  }
end

local function write(id, task, note)
  redis.call('HSET', state, id, string.format('%.0f:%.0f:%.0f:%d:%s',
    task.token, task.given_back, task.crashes, task.priority, note))
end

local function bury(id, task, reason)
  write(id, task, reason)
  redis.call('ZADD', dead, now_ms, id)
end
