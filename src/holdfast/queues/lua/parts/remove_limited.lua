-- Removes limited tasks from their queue.
-- Expects: give_back.

-- Removes a task from the tasks of its limit. Returns whether it was kept apart, so that it is in no other
-- place, and how many tasks were admitted instead.
local function remove_limited(limits, id)
  if redis.call('ZREM', limits.limited, id) == 1 then
    limits.ahead.before = -1
    return true, 0
  end
  return false, give_back(limits, {id})
end
