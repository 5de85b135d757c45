-- What another program may have changed in the keys of a queue.
-- Expects: bodies, state, leases, ready, due, idle, dead, expiring, left_over, awaited,
-- settings, pace.

-- Ends the script before its first write if a key has another type: a command that failed later would
-- lose the ids that were taken from a line by then.
local function check_types()
  local types = {
    hash = {bodies, state, awaited, settings, pace},
    zset = {leases, due[1], due[2], due[3], idle, dead, expiring},
    list = ready,
    set = {left_over},
  }
  for wanted, keys in pairs(types) do
    for _, key in ipairs(keys) do
      local found = redis.call('TYPE', key).ok
      if found ~= wanted and found ~= 'none' then
        error({err = 'DAMAGED ' .. key .. ' is a ' .. found .. ', not a ' .. wanted})
      end
    end
  end
end

-- How many tasks are not dead and stand in a line or run; and how many more have a body: they stand in no
-- line and will never run. Below 0: so many ids in lines have no body.
local function count_standing()
  local standing = redis.call('ZCARD', leases) - redis.call('SCARD', left_over)
  for priority = 1, 3 do
    standing = standing + redis.call('LLEN', ready[priority]) + redis.call('ZCARD', due[priority])
  end
  local left = math.max(0, redis.call('HLEN', bodies) - redis.call('ZCARD', dead))
  return math.min(left, math.max(0, standing)), left - standing
end
