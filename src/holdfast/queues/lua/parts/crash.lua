-- Counts crashes of tasks: their workers vanished, or their own processes died.
-- Needs the parts: record, return_task.

-- Counts a crash of a task. If this was its last allowed crash, then the task is dead, with *reason*.
-- Otherwise it is queued again, and due since *due_ms*.
local function count_crash(step, id, task, due_ms, reason)
  task.crashes = task.crashes + 1
  if task.crashes >= step.max_crashes then
    return move_to_dead(step, id, task, reason)
  end
  write_queued(step, id, task, reason)
  add_due(step, id, task.priority, due_ms)
end
