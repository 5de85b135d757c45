-- A worker's verdict on a task that it ran. Expects: record, bodies, state, leases, due, ready, now_ms.

-- done, retry (detail: ms), release (back to the front, nothing spent) or dead (detail: reason).
-- 0 when the lease was lost: someone else has the task, or had the last word.
local function settle(id, token, verb, detail)
  local task = parse(redis.call('HGET', state, id))
  if task.token ~= token or redis.call('ZREM', leases, id) == 0 then
    return 0
  end
  if verb == 'done' or redis.call('HEXISTS', bodies, id) == 0 then
    redis.call('HDEL', bodies, id)
    redis.call('HDEL', state, id)
  elseif verb == 'retry' then
    write(id, task, '')
    redis.call('ZADD', due[task.priority], now_ms + tonumber(detail), id)
  elseif verb == 'release' then
    task.attempts = task.attempts - 1
    write(id, task, '')
    redis.call('LPUSH', ready[task.priority], id)
  else
    bury(id, task, detail)
  end
  return 1
end
