-- One task, to be run by this worker.
-- Expects: record, grant, state, dead, leases, expiring, suspects, max_crashes, worker,
-- channel, now_ms, now_us.

local suspect_left = false   -- a suspect stays in line: this worker runs one already
local any_expiring = true    -- whether some task may expire: to be asked once all verdicts are in
local holder = channel .. ' ' .. worker
local due_at = {}            -- of those that were due, by id: given back, they are due since then again
local first_token = string.format('%.0f', now_us)

local function note_of(id)
  return due_at[id] and holder .. ' ' .. due_at[id] or holder
end

-- A task with a past, or with an expiry. Whether it leaves the line.
local function claim_known(id, priority, body, task)
  local expires = any_expiring and tonumber(redis.call('ZSCORE', expiring, id) or 0) or 0
  task.priority = priority
  if expires > 0 and expires <= now_ms then
    redis.call('ZREM', expiring, id)
    bury(id, task, 'expired: it was not begun in time')
    return true
  end
  if redis.call('ZSCORE', leases, id) then
    return true  -- it runs: a stranger has put it in line twice
  end
  if task.crashes > 0 and task.crashes >= max_crashes - 1 then
    if suspects == 0 then
      suspect_left = true
      return false
    end
    suspects = suspects - 1
  end
  if expires > 0 then
    redis.call('ZREM', expiring, id)
  end
  -- The server's clock keeps tokens growing when an id is used again for another task.
  task.token = math.max(task.token + 1, now_us)
  task.attempts, task.expires = task.attempts + 1, expires
  take(id, task.token, packed(task, note_of(id)))
  answer(id, string.format('%.0f', task.token), task.attempts, task.crashes, body)
  return true
end

-- Whether *id* leaves the line: because it is claimed, or because it has no business there.
local function claim(id, priority, body, record)
  if taken[id] then
    return true
  elseif not body then  -- no task: a stranger has put it in line
    redis.call('HDEL', state, id)
    return true
  end
  if record or any_expiring then
    return claim_known(id, priority, body, parse(record))
  end
  -- The first claim of a plain task, by far the most frequent one, takes the shortest way.
  take(id, now_us, first_token .. ':1:0:' .. priority .. ':0:0:' .. note_of(id))
  answer(id, first_token, 1, 0, body)
  return true
end
