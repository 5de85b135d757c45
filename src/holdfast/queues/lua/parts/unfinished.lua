-- What follows from every verdict but done.
-- Expects: left_over, awaiting, record.
--
-- *step* has the keys of the queue and `now_ms`. *released* has the ids of released tasks by priority,
-- which are put back in line once all verdicts are known.

-- In line again: from now on the expiry is watched there, not in the record.
local function put_back(step, id, task, note)
  if task.expires > 0 then
    redis.call('ZADD', step.expiring, task.expires, id)
    task.expires = 0
  end
  write_record(step, id, task, note)
end

-- A task that this worker does not know waits for one that does, seldom and seldomer.
local function park(step, id, task, bound_ms, reason)
  local now_ms = step.now_ms
  task.parked = task.parked > 0 and task.parked or now_ms
  local parked_ms = now_ms - task.parked
  if parked_ms >= bound_ms then
    return move_to_dead(step, id, task, reason)
  end
  task.attempts = task.attempts - 1
  put_back(step, id, task, reason)
  local pause_ms = math.min(math.max(parked_ms, 1000), 60000, bound_ms - parked_ms)
  redis.call('ZADD', step.due[task.priority], now_ms + pause_ms, id)
end

local function settle_unfinished(step, released, id, task, verb, ms, reason)
  if redis.call('HEXISTS', step.bodies, id) == 0 then
    redis.call('HDEL', step.state, id)
  elseif verb == 'dead' then
    move_to_dead(step, id, task, reason)
  elseif verb == 'park' then
    park(step, id, task, ms, reason)
  else
    task.parked = 0
    if verb == 'release' then
      task.attempts = task.attempts - 1
      local at = task.note:match('^%S+ %S+ (%d+)$') or has_left_over(step.left_over, id) and step.now_ms
      if at then
        redis.call('ZADD', step.due[task.priority], at, id)
      else
        table.insert(released[task.priority], id)
      end
    else
      step.ended.retried = step.ended.retried + 1
      redis.call('ZADD', step.due[task.priority], step.now_ms + ms, id)
    end
    put_back(step, id, task, reason)
  end
end

local function put_released_back(step, released)
  for priority = 1, 3 do
    local front = released[priority]
    for i = #front, 1, -1 do
      redis.call('LPUSH', step.ready[priority], front[i])
    end
  end
end
