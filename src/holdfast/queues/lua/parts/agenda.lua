-- When there is something to do again.
-- Expects: settle, claim, leases, due, ready, paused, now_ms.

local SUSPECT_MS = 1000  -- when to look again for a suspect that was left in line

-- The first instant in a ZSET; of one where suspects were left, the first one to come.
local function first_in(key)
  local from = suspect_left and '(' .. now_text or '-inf'
  local found = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  return tonumber(found[2] or nil)
end

-- Milliseconds until the next task is due or the next lease ends; 0 when something is ready now.
local function next_ms()
  local first = suspect_left and now_ms + SUSPECT_MS or nil
  local keys = paused and {leases} or {due[1], due[2], due[3], leases}
  for _, key in ipairs(keys) do
    local at = first_in(key)
    if at and (not first or at < first) then
      first = at
    end
  end
  return first and math.max(0, first - now_ms) or -1
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
