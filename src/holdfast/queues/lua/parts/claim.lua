-- One task, to be run by this worker.
-- Expects: record, bodies, state, leases, expiring, left_over, want, suspects, lease_ms, max_crashes,
-- worker, channel, out, now_ms, now_us.

local claimed, claimed_bytes, looked_at = {}, 0, 0
local suspect_left = false   -- a suspect stays in line: this worker runs one already
local CHUNK = 8              -- ids taken from a line at once
local LOOK_LIMIT = 512       -- ids looked at in one step: most may be cancelled or expired
local CLAIM_BYTES = 1048576  -- a reply must arrive within a timeout: after so much, no further chunk
local any_expiring = true    -- whether some task may expire: to be asked once all verdicts are in

local function room()
  if claimed_bytes >= CLAIM_BYTES or looked_at >= LOOK_LIMIT then
    return 0
  end
  return math.min(CHUNK, want - #claimed)
end

local function answer(id, task, body)
  local token = string.format('%.0f', task.token)
  for _, part in ipairs({id, token, task.attempts, task.crashes, body}) do
    out[#out + 1] = part
  end
end

-- Whether *id* leaves the line: because it is claimed, or because it has no business there.
local function claim(id, priority)
  looked_at = looked_at + 1
  local body = redis.call('HGET', bodies, id)
  if not body then  -- cancelled while it waited
    redis.call('HDEL', state, id)
    redis.call('SREM', left_over, id)
    return true
  end
  local task = parse(redis.call('HGET', state, id))
  if task.crashes > 0 and task.crashes >= max_crashes - 1 then
    if suspects == 0 then
      suspect_left = true
      return false
    end
    suspects = suspects - 1
  end
  local expires = any_expiring and tonumber(redis.call('ZSCORE', expiring, id) or 0) or 0
  task.priority = priority
  if expires > 0 then
    redis.call('ZREM', expiring, id)
    if expires <= now_ms then
      bury(id, task, 'expired: it was not begun in time')
      return true
    end
  end
  if redis.call('ZADD', leases, 'NX', now_ms + lease_ms, id) == 0 then
    return true  -- it runs: a stranger has put it in line twice
  end
  -- The server's clock keeps tokens growing when an id is used again for another task.
  task.token = math.max(task.token + 1, now_us)
  task.attempts, task.expires = task.attempts + 1, expires
  write(id, task, channel .. ' ' .. worker)
  claimed[#claimed + 1] = {id, task.token}
  claimed_bytes = claimed_bytes + #body
  answer(id, task, body)
  return true
end
