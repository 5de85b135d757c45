-- Removes a task that has a limit (see parts/limit) from the keys of the limits.
-- Needs the parts: give_back.

-- Removes the task *id* from the tasks that are kept apart until their limit key has room;
-- otherwise gives back its permit, if it has one. Returns whether it was kept apart (then it is in
-- no ready list and no due set), and how many tasks were admitted instead.
local function remove_limited(limits, id)
  if redis.call('ZREM', limits.limited, id) == 1 then
    limits.ahead.before = -1
    return true, 0
  end
  return false, give_back(limits, {id})
end
