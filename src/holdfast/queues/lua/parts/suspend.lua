-- Suspends a task that sleeps, or waits for a signal.
-- Needs the parts: record, step_index, waiting_signal.

-- Returns when a task with this index runs again (ms).
local function wakes_ms(step, index)
  local until_ms = index.pending[4]
  return until_ms and not found_signal(index, index.pending) and until_ms or step.now_ms
end

-- Queues a task until its sleep or wait ends. No attempt is counted. It began in time, so it does not expire any more.
local function suspend(step, id, task, reason)
  local readable, index = pcall(index_of, step.keys, id)
  task.attempts, task.parked, task.expires = task.attempts - 1, 0, 0
  step.counts.snoozed = step.counts.snoozed + 1
  add_due(step, id, task.priority, readable and wakes_ms(step, index) or step.now_ms)
  write_record(step, id, task, reason)
end
