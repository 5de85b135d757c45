-- Admits tasks after the definition of a limit has changed (see queues/declare_limits).
-- Needs the parts: limit_key, write_limits, admit, admit_next.

local SWEEP_SLOTS = 100  -- keys examined in one step; the next steps examine the others
local SWEEP_TASKS = 500  -- tasks admitted in one step

-- Examines the next keys with tasks that are kept apart, from the slot in the setting `sweep` on. Returns
-- whether there are more.
local function sweep(limits, slot)
  local admitted = 0
  for _ = 1, SWEEP_SLOTS do
    local found = redis.call('ZRANGE', limits.limited, LIMITED_KEY * slot, '+inf',
      'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if not found[1] then
      write_limits(limits)
      redis.call('HDEL', limits.settings, 'sweep')
      return false
    end
    slot = math.floor(found[2] / LIMITED_KEY)
    admitted = admitted + admit_next(limits, key_at(limits, slot), SWEEP_TASKS - admitted)
    if admitted >= SWEEP_TASKS then
      break  -- the key may have more
    end
    slot = slot + 1
  end
  write_limits(limits)
  redis.call('HSET', limits.settings, 'sweep', slot)
  return true
end
