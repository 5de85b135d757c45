-- Finds out when a worker has something to do in a queue again.
-- Needs the parts: without_end.
--
-- *step*: see queues/step. *poison_left*: whether a poison task stays queued.

local POISON_MS = 1000  -- a worker looks again for a poison task that stays queued after so long

-- Returns the earliest score (ms) in a ZSET, or nil. With *poison_left* it ignores the ids that are due
-- already, because all of them may be poison tasks.
local function first_in(step, key, poison_left)
  local from = poison_left and '(' .. string.format('%.0f', step.now_ms) or '-inf'
  local found = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  return found[2] and tonumber(found[2])
end

-- Returns the milliseconds until the next task is due or the next lease ends; -1 if there is neither.
local function next_ms(step, poison_left)
  local first = poison_left and step.now_ms + POISON_MS or nil
  local due = step.keys.due
  local keys = step.paused and {step.keys.leases} or {due[1], due[2], due[3], step.keys.leases}
  for _, key in ipairs(keys) do
    local at = first_in(step, key, poison_left)
    if at and (not first or at < first) then
      first = at
    end
  end
  return first and math.max(0, first - step.now_ms) or -1
end

-- Returns whether another worker could claim a task now.
local function more_ready(step, poison_left)
  if step.paused then
    return false
  end
  for priority = 1, 3 do
    if redis.call('EXISTS', step.keys.ready[priority]) == 1 then
      return true
    end
  end
  return next_ms(step, poison_left) == 0
end

-- Returns two numbers:
--   tasks that are queued, delayed or running, except those that only a signal can wake; in a paused queue only
--   those that run
--   tasks that are in no list or set, and will never run; below 0: ids in lists or sets without a body
local function count_tasks(step)
  local running = redis.call('ZCARD', step.keys.leases)
  local listed = running - redis.call('SCARD', step.keys.tombstones)
  if step.limits then
    listed = listed + redis.call('ZCARD', step.keys.limited)
  end
  for priority = 1, 3 do
    listed = listed + redis.call('LLEN', step.keys.ready[priority]) + redis.call('ZCARD', step.keys.due[priority])
  end
  local alive = math.max(0, redis.call('HLEN', step.keys.bodies) - redis.call('ZCARD', step.keys.dead))
  local left = step.paused and running or math.min(alive, math.max(0, listed)) - without_end(step)
  return left, alive - listed
end
