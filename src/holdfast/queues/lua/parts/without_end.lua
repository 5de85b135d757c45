-- Counts the tasks that only a signal can wake.
-- Needs the parts: step_index.

-- Returns how many tasks wait for a signal without a timeout.
local function without_end(step)
  local found = 0
  for priority = 1, step.has_steps and 3 or 0 do
    found = found + redis.call('ZCOUNT', step.keys.due[priority], NEVER_MS, '+inf')
  end
  return found
end
