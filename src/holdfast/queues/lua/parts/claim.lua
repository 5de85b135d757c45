-- Claims one task for the worker that makes the step.
-- Expects: task_name, unique, own_key, record, claims.

-- Claims a task that was claimed before or may expire. Returns whether it leaves the queue.
local function claim_known(step, claims, id, priority, body, task)
  local expires = step.any_expiring and tonumber(redis.call('ZSCORE', step.keys.expiring, id) or 0) or 0
  task.priority = priority
  local unique = unique_of(body)
  if expires > 0 and expires <= step.now_ms then
    redis.call('ZREM', step.keys.expiring, id)
    task.facts, task.is_unique = facts_of(body), unique ~= nil
    move_to_dead(step, id, task, 'expired: it was not begun in time')
    return true
  end
  if redis.call('ZSCORE', step.keys.leases, id) then
    return true  -- it runs: another program has queued it twice
  end
  if task.crashes > 0 and task.crashes >= step.max_crashes - 1 then
    if step.poison_to_claim == 0 then
      claims.poison_left = true
      return false
    end
    step.poison_to_claim = step.poison_to_claim - 1
  end
  if expires > 0 then
    redis.call('ZREM', step.keys.expiring, id)
  end
  -- The clock makes tokens grow even if the id was used before, by a task that left no record.
  task.token = math.max(task.token + 1, step.now_us)
  task.attempts, task.expires = task.attempts + 1, expires
  add_claim(step, claims, id, task.token, packed_record(task, note_of(step, claims, id, unique)))
  if unique then
    update_key(step, id, 'started', body)
  end
  local token = string.format('%.0f', task.token)
  add_to_reply(claims, id, token, task, body)
  return true
end

-- Claims the task *id*. Returns whether it leaves the queue: it is claimed, or it must not be there.
local function claim(step, claims, id, priority, body, record)
  if claims.taken[id] then
    return true
  elseif not body then  -- there is no such task: another program has queued the id
    redis.call('HDEL', step.keys.state, id)
    return true
  end
  if record or step.any_expiring then
    return claim_known(step, claims, id, priority, body, parse_record(record))
  end
  -- The first claim of a plain task, by far the most frequent case, takes the fast path.
  local unique = unique_of(body)
  local first = step.new_token .. ':1:0:' .. priority .. ':0:0:0:' .. note_of(step, claims, id, unique)
  add_claim(step, claims, id, step.now_us, first)
  if unique then
    update_key(step, id, 'started', body)
  end
  add_to_reply(claims, id, step.new_token, step.first_claim, body)
  return true
end
