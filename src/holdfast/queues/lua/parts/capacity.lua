-- Limits how many tasks may be queued or delayed at once.
-- Needs the parts: definition.

-- Returns the capacity in effect (0: no limit), and the verdict of `define` on the *given* one ('conflict' and
-- 'kept' matter to the caller). Stores the given capacity if the verdict is 'store'. *stored* is the one that is
-- stored before; false: none.
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
