-- One task, to be run by the worker that makes the step.
-- Expects: record, grant.
--
-- *step* also has `now_us`, `first_token`, `holder`, `max_crashes`, `suspects` (how many may still be
-- claimed) and `any_expiring`: whether some task may expire. *claims* also has `due_at`, since when
-- tasks were due, by id, and `suspect_left`: one stays in line, as this worker runs another already.

-- Given back, a task that was due is due since then again.
local function note_of(step, claims, id)
  local due_at = claims.due_at[id]
  return due_at and step.holder .. ' ' .. due_at or step.holder
end

-- A task with a past, or with an expiry. Whether it leaves the line.
local function claim_known(step, claims, id, priority, body, task)
  local expires = step.any_expiring and tonumber(redis.call('ZSCORE', step.expiring, id) or 0) or 0
  task.priority = priority
  if expires > 0 and expires <= step.now_ms then
    redis.call('ZREM', step.expiring, id)
    move_to_dead(step, id, task, 'expired: it was not begun in time')
    return true
  end
  if redis.call('ZSCORE', step.leases, id) then
    return true  -- it runs: another program has put it in line twice
  end
  if task.crashes > 0 and task.crashes >= step.max_crashes - 1 then
    if step.suspects == 0 then
      claims.suspect_left = true
      return false
    end
    step.suspects = step.suspects - 1
  end
  if expires > 0 then
    redis.call('ZREM', step.expiring, id)
  end
  -- The server's clock keeps tokens growing when an id is used again for another task.
  task.token = math.max(task.token + 1, step.now_us)
  task.attempts, task.expires = task.attempts + 1, expires
  take(step, claims, id, task.token, packed_record(task, note_of(step, claims, id)))
  local token = string.format('%.0f', task.token)
  answer_with(step, claims, id, token, task.attempts, task.crashes, body)
  return true
end

-- Whether *id* leaves the line: because it is claimed, or because it has no business there.
local function claim(step, claims, id, priority, body, record)
  if claims.taken[id] then
    return true
  elseif not body then  -- no task: another program has put it in line
    redis.call('HDEL', step.state, id)
    return true
  end
  if record or step.any_expiring then
    return claim_known(step, claims, id, priority, body, parse_record(record))
  end
  -- The first claim of a plain task, by far the most frequent one, takes the shortest path.
  local first = step.first_token .. ':1:0:' .. priority .. ':0:0:' .. note_of(step, claims, id)
  take(step, claims, id, step.now_us, first)
  answer_with(step, claims, id, step.first_token, 1, 0, body)
  return true
end
