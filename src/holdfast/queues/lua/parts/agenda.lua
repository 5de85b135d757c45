-- When a queue has something to do again.
--
-- *step* has the keys of the queue, `now_ms`, and whether it is `paused`. *poison_left*: whether a
-- poison task stays queued.

local POISON_MS = 1000  -- when to look again for a poison task that stays queued

-- Returns the first instant in a ZSET. If poison tasks were left in it, returns the first one to come.
local function first_in(step, key, poison_left)
  local from = poison_left and '(' .. string.format('%.0f', step.now_ms) or '-inf'
  local found = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  return tonumber(found[2] or nil)
end

-- Returns the milliseconds until the next task is due or the next lease ends; -1: there is neither.
local function next_ms(step, poison_left)
  local first = poison_left and step.now_ms + POISON_MS or nil
  local due = step.due
  local keys = step.paused and {step.leases} or {due[1], due[2], due[3], step.leases}
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
    if redis.call('EXISTS', step.ready[priority]) == 1 then
      return true
    end
  end
  return next_ms(step, poison_left) == 0
end

-- Returns how many tasks are queued, delayed or running; in a paused queue only those that run. Also
-- returns how many more tasks have a body: they are in no list or set and will never run. A negative
-- number: so many ids have no body.
local function count_tasks(step, tombstones)
  local running = redis.call('ZCARD', step.leases)
  local listed = running - redis.call('SCARD', tombstones)
  for priority = 1, 3 do
    listed = listed + redis.call('LLEN', step.ready[priority]) + redis.call('ZCARD', step.due[priority])
  end
  local alive = math.max(0, redis.call('HLEN', step.bodies) - redis.call('ZCARD', step.dead))
  local left = step.paused and running or math.min(alive, math.max(0, listed))
  return left, alive - listed
end
