-- Decides when the worker of a step makes its next one, and whether another worker has something to do.
-- Expects: notify, claims, agenda, queue_limit.

local IDLE_KEY_MS = 600000  -- life of the list of idle workers: no step has a longer `idle_ms`

-- Returns for a worker that waits for a notification: in how many ms it looks again; 0: at once; -1: unknown.
-- *left* is how many tasks the queue has, *sweeps* whether the next step has limited tasks to admit.
local function wait_of(step, claims, left, sweeps)
  if left <= 0 then
    return -1
  elseif step.is_held and claims.count >= step.want then
    return held_ms(step)
  elseif claims.looked_at >= LOOK_LIMIT or sweeps then
    return 0
  end
  return next_ms(step, claims.poison_left)
end

-- Returns wait_ms, left and missing of the reply. *returned*: whether the step may have queued tasks again.
local function plan_next(step, claims, channel, returned, sweeps)
  local idle, is_full = step.keys.idle, claims.count >= step.want and not step.is_held
  if not is_full and claims.bytes < CLAIM_BYTES then  -- the queue had no more
    redis.call('ZADD', idle, step.now_ms + step.idle_ms, channel)
    redis.call('PEXPIRE', idle, IDLE_KEY_MS)
    local left, missing = count_tasks(step)
    return wait_of(step, claims, left, sweeps), left, missing
  end
  local was_idle = redis.call('ZREM', idle, channel) == 1
  -- The idle worker that knew the next due time is busy now; wake another one to take over.
  if returned or sweeps or (more_ready(step, claims.poison_left) and not is_at_limit(step))
    or (was_idle and next_ms(step, claims.poison_left) > 0) then
    notify_one(idle, step.now_ms)
  end
  return 0, -1, 0
end
