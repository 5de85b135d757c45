-- A worker's verdict on a task that it ran.
-- Expects: awaiting, record, awaited, bodies, state, leases, due, expiring, now_ms.

local released = {{}, {}, {}}  -- by priority; back in line once all verdicts are known

-- In line again: from now on the expiry is watched there, not in the record.
local function put_back(id, task, note)
  if task.expires > 0 then
    redis.call('ZADD', expiring, task.expires, id)
    task.expires = 0
  end
  write(id, task, note)
end

-- A task that this worker does not know waits for one that does, seldom and seldomer.
local function park(id, task, bound_ms, reason)
  task.parked = task.parked > 0 and task.parked or now_ms
  local parked_ms = now_ms - task.parked
  if parked_ms >= bound_ms then
    return bury(id, task, reason)
  end
  task.attempts = task.attempts - 1
  put_back(id, task, reason)
  local pause_ms = math.min(math.max(parked_ms, 1000), 60000, bound_ms - parked_ms)
  redis.call('ZADD', due[task.priority], now_ms + pause_ms, id)
end

-- done (ms: how long to keep the result, under the key *kept*), retry (ms: to wait), dead,
-- release (back to the front, nothing spent) or park (ms: at most, in all); text: result or reason.
-- 0 when the lease was lost: someone else has the task, or had the last word.
local function settle(id, token, verb, ms, text, kept)
  local task = parse(redis.call('HGET', state, id))
  if task.token ~= token or redis.call('ZREM', leases, id) == 0 then
    return 0
  end
  if verb == 'done' then
    if kept then
      redis.call('SET', kept, string.format('done:%d:%.0f:%s', task.attempts, now_ms, text), 'PX', ms)
    end
    forget(id)
    tell_awaiting(awaited, id)
  elseif redis.call('HEXISTS', bodies, id) == 0 then
    redis.call('HDEL', state, id)
  elseif verb == 'dead' then
    bury(id, task, text)
  elseif verb == 'park' then
    park(id, task, ms, text)
  else
    task.parked = 0
    if verb == 'release' then
      task.attempts = task.attempts - 1
      table.insert(released[task.priority], id)
    else
      redis.call('ZADD', due[task.priority], now_ms + ms, id)
    end
    put_back(id, task, text)
  end
  return 1
end
