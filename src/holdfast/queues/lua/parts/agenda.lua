-- When there is something to do again. Expects: claim, leases, due, ready, paused, now_ms.

local SUSPECT_MS = 1000  -- a suspect that was left in line is due all the time

-- Milliseconds until the next task is due or the next lease ends; 0 when something is ready now.
local function next_ms()
  local first
  local from = paused and 4 or 1
  local keys = {due[1], due[2], due[3], leases}
  for i = from, 4 do
    local score = redis.call('ZRANGE', keys[i], 0, 0, 'WITHSCORES')[2]
    if score and (not first or tonumber(score) < first) then
      first = tonumber(score)
    end
  end
  local wait = first and math.max(0, first - now_ms) or -1
  return suspect_left and math.max(wait, SUSPECT_MS) or wait
end

local function more_ready()
  if paused then
    return false
  end
  for priority = 1, 3 do
    if redis.call('EXISTS', ready[priority]) == 1 then
      return true
    end
  end
  return next_ms() == 0
end
