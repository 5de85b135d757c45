-- Claims the next tasks of a queue.
-- Needs the parts: take.

-- Claims tasks until the step has what it wants, those with a higher priority first.
local function take_next(step, claims)
  for priority = 1, 3 do
    take_due(step, claims, priority)
    take_ready(step, claims, priority)
  end
end
