-- Claims one task that was claimed before or may expire.
-- Needs the parts: task_name, unique, own_key, record, claims, give_back, start_turns, may_start.

-- Claims a task that was claimed before or may expire. Returns whether it leaves the queue.
local function claim_known(step, claims, id, priority, body, task)
  local expires = step.any_expiring and tonumber(redis.call('ZSCORE', step.keys.expiring, id) or 0) or 0
  task.priority = priority
  local unique = unique_of(body)
  if expires > 0 and expires <= step.now_ms then
    claims.looked_at = claims.looked_at + 9  -- it takes as long as ten ids that are only examined
    redis.call('ZREM', step.keys.expiring, id)
    task.facts, task.is_unique = facts_of(body), unique ~= nil
    move_to_dead(step, id, task, 'expired: it was not begun in time')
    if step.limits then
      if step.limits.starting then start_turns(step.limits, priority) end
      give_back(step.limits, {id})
    end
    return true
  end
  if redis.call('ZSCORE', step.keys.leases, id) then
    return true  -- it runs: another program has queued it twice
  end
  local is_poison = task.crashes > 0 and task.crashes >= step.max_crashes - 1
  if is_poison and step.poison_to_claim == 0 then
    claims.poison_left = true
    return false
  end
  local starts, leaves = may_start(step, claims, id, priority, body)
  if not starts then
    return leaves
  elseif is_poison then
    step.poison_to_claim = step.poison_to_claim - 1
  end
  if expires > 0 then
    redis.call('ZREM', step.keys.expiring, id)
  end
  -- The clock makes tokens grow even if the id was used before, by a task that left no record.
  task.token = math.max(task.token + 1, step.now_us)
  task.attempts, task.expires = task.attempts + 1, expires
  add_claim(step, claims, id, task.token, packed_record(task, note_of(step, claims, id, unique, body)))
  if unique then
    update_key(step, id, 'started', body)
  end
  local token = string.format('%.0f', task.token)
  add_to_reply(claims, id, token, task, body)
  if step.has_steps then note_steps(step, claims, id) end
  return true
end
