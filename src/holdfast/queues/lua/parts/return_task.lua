-- Puts a task that has not ended back into its queue.
-- Needs the parts: record, own_key.

-- Writes the record of a task that goes back to its queue; its attempt does not count.
local function write_unstarted(step, id, task, note)
  task.attempts = task.attempts - 1
  write_queued(step, id, task, note)
  if task.is_unique then
    update_key(step, id, 'unstarted')
  end
end

-- Queues a task to run again in *wait_ms*. *outcome* is `retried` if it failed, `snoozed` if it asked to
-- run later.
local function run_again(step, id, task, wait_ms, reason, outcome)
  task.parked = 0
  step.counts[outcome] = step.counts[outcome] + 1
  add_due(step, id, task.priority, step.now_ms + wait_ms)
  write_queued(step, id, task, reason)
end

-- Parks a task that the worker does not know: the task stays queued for a worker that knows it,
-- with pauses that grow from one second to one minute. After *max_ms* in all, the task is dead.
local function park(step, id, task, max_ms, reason)
  local now_ms = step.now_ms
  task.parked = task.parked > 0 and task.parked or now_ms
  local parked_ms = now_ms - task.parked
  if parked_ms >= max_ms then
    return move_to_dead(step, id, task, reason)
  end
  write_unstarted(step, id, task, reason)
  local pause_ms = math.min(math.max(parked_ms, 1000), 60000, max_ms - parked_ms)
  add_due(step, id, task.priority, now_ms + pause_ms)
end
