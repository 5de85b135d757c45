-- Decides when the worker of a step makes its next one, and whether another worker has something to do.
-- Needs the parts: notify, claims, agenda, queue_limit.

local IDLE_KEY_MS = 600000  -- life of the list of idle workers: no step has a longer `idle_ms`

-- Returns for a worker that waits for a notification: in how many ms it looks again; 0: at once; -1: unknown.
-- *left* is how many tasks the queue has.
local function wait_of(step, claims, left)
  if left <= 0 then
    return -1
  elseif step.is_held and claims.count >= step.want then
    return held_ms(step)
  elseif claims.looked_at >= LOOK_LIMIT or step.sweeps then
    return 0
  end
  return next_ms(step, claims.poison_left)
end

-- Returns wait_ms, left and missing of the reply, as a table. Sets `step.was_idle`: whether the worker was in
-- the list of idle workers. *returned*: whether the step may have queued tasks again.
local function plan_next(step, claims, returned)
  local idle, is_full = step.keys.idle, claims.count >= step.want and not step.is_held
  if not is_full and claims.bytes < CLAIM_BYTES then  -- the queue had no more
    step.was_idle = redis.call('ZADD', idle, step.now_ms + step.idle_ms, step.channel) == 0
    redis.call('PEXPIRE', idle, IDLE_KEY_MS)
    local left, missing = count_tasks(step)
    return {wait_ms = wait_of(step, claims, left), left = left, missing = missing}
  end
  step.was_idle = redis.call('ZREM', idle, step.channel) == 1
  -- The idle worker that knew the next due time is busy now; wake another one to take over.
  if returned or step.sweeps or (more_ready(step, claims.poison_left) and not is_at_limit(step))
    or (step.was_idle and next_ms(step, claims.poison_left) > 0) then
    notify_one(idle, step.now_ms)
  end
  return {wait_ms = 0, left = -1, missing = 0}
end
