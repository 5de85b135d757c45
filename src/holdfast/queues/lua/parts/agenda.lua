-- When there is something to do again. Expects: leases, due, ready, now_ms.

-- Milliseconds until the next task is due or the next lease ends; 0 when something is ready now.
local function next_ms()
  local first
  for _, key in ipairs({due[1], due[2], due[3], leases}) do
    local score = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if score and (not first or tonumber(score) < first) then
      first = tonumber(score)
    end
  end
  return first and math.max(0, first - now_ms) or -1
end

local function more_ready()
  for priority = 1, 3 do
    if redis.call('EXISTS', ready[priority]) == 1 then
      return true
    end
  end
  return next_ms() == 0
end
