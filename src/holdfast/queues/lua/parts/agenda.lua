-- When there is something to do again.
--
-- *step* has the keys of the queue, `now_ms`, and whether it is `paused`. *suspect_left*: a suspect was
-- left in line.

local SUSPECT_MS = 1000  -- when to look again for a suspect that was left in line

-- The first instant in a ZSET; of one where suspects were left, the first one to come.
local function first_in(step, key, suspect_left)
  local from = suspect_left and '(' .. string.format('%.0f', step.now_ms) or '-inf'
  local found = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  return tonumber(found[2] or nil)
end

-- Milliseconds until the next task is due or the next lease ends; 0 when something is ready now.
local function next_ms(step, suspect_left)
  local first = suspect_left and step.now_ms + SUSPECT_MS or nil
  local due = step.due
  local keys = step.paused and {step.leases} or {due[1], due[2], due[3], step.leases}
  for _, key in ipairs(keys) do
    local at = first_in(step, key, suspect_left)
    if at and (not first or at < first) then
      first = at
    end
  end
  return first and math.max(0, first - step.now_ms) or -1
end

local function more_ready(step, suspect_left)
  if step.paused then
    return false
  end
  for priority = 1, 3 do
    if redis.call('EXISTS', step.ready[priority]) == 1 then
      return true
    end
  end
  return next_ms(step, suspect_left) == 0
end
