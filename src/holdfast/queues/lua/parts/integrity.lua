-- What another program may have changed in the keys of a queue.

-- Ends the script before its first write if a key has another type: a command that failed later would
-- lose the ids that were taken from a list by then. *awaited*, *settings*, *pace* and *left_over* are keys.
local function check_types(step, awaited, settings, pace, left_over)
  local types = {
    {'hash', step.bodies, step.state, awaited, settings, pace},
    {'zset', step.leases, step.due[1], step.due[2], step.due[3], step.idle, step.dead, step.expiring},
    {'list', step.ready[1], step.ready[2], step.ready[3]},
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

-- How many tasks are not dead and are queued or run (while the queue is paused: only those that run). And how
-- many more have a body: they are queued nowhere and will never run. Below 0: so many queued ids have no body.
local function count_standing(step, left_over)
  local standing = redis.call('ZCARD', step.leases) - redis.call('SCARD', left_over)
  for priority = 1, 3 do
    standing = standing + redis.call('LLEN', step.ready[priority]) + redis.call('ZCARD', step.due[priority])
  end
  local left = math.max(0, redis.call('HLEN', step.bodies) - redis.call('ZCARD', step.dead))
  local waited_for = step.paused and redis.call('ZCARD', step.leases) or math.min(left, math.max(0, standing))
  return waited_for, left - standing
end
