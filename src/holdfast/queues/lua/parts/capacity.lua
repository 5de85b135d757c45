-- Limits how many tasks may be queued or delayed at once.
-- Expects: definition.

-- Returns the capacity (0: no limit), and the verdict on the *given* one: 'conflict', 'kept' or another.
-- Stores the given capacity if it is to be stored. *stored* is the one that is stored; false: none.
local function capacity_of(settings, stored, given)
  local capacity, verdict = define(stored, given)
  if verdict == 'store' then
    redis.call('HSET', settings, 'capacity', capacity)
  end
  return tonumber(capacity) or 0, verdict
end

-- Returns how many tasks are queued or delayed.
local function waiting_tasks(bodies, leases, dead)
  return redis.call('HLEN', bodies) - redis.call('ZCARD', leases) - redis.call('ZCARD', dead)
end
