-- What another program may have changed in the keys of a queue.
-- Expects: bodies, state, leases, ready, due, idle, dead, expiring, left_over, awaited,
-- settings, pace, paused.

-- Ends the script before its first write if a key has another type: a command that failed later would
-- lose the ids that were taken from a line by then.
local function check_types()
  local types = {
    {'hash', bodies, state, awaited, settings, pace},
    {'zset', leases, due[1], due[2], due[3], idle, dead, expiring},
    {'list', ready[1], ready[2], ready[3]},
    {'set', left_over},
  }
  for _, keys in ipairs(types) do
    local wanted = keys[1]
    for i = 2, #keys do
      local key = keys[i]
      local found = redis.call('TYPE', key).ok
      if found ~= wanted and found ~= 'none' then
        error({err = 'DAMAGED ' .. key .. ' is a ' .. found .. ', not a ' .. wanted})
      end
    end
  end
end

-- How many tasks are not dead and stand in a line or run (while paused: that run); and how many more have a body: they stand in no
-- line and will never run. Below 0: so many ids in lines have no body.
local function count_standing()
  local standing = redis.call('ZCARD', leases) - redis.call('SCARD', left_over)
  for priority = 1, 3 do
    standing = standing + redis.call('LLEN', ready[priority]) + redis.call('ZCARD', due[priority])
  end
  local left = math.max(0, redis.call('HLEN', bodies) - redis.call('ZCARD', dead))
  local waited_for = paused and redis.call('ZCARD', leases) or math.min(left, math.max(0, standing))
  return waited_for, left - standing
end
