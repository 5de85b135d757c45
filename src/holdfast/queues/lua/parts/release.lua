-- Releases tasks that a worker has claimed and does not run.
-- Needs the parts: tombstones, record, keep_apart, pause_key, return_task.

-- Puts a task back where it was, without counting the attempt. A task that was due gets its old
-- score; another one is added to *released*, by priority, and goes to the front of its ready list. If the next task
-- of its limit key is ready, the released task is kept apart, as the first one of its key: `released.apart` has the key.
local function release(step, released, id, task, reason)
  task.parked = 0
  local due_at, key = task.note:match('^%S+ %S+ (%d+)'), step.limits and unstart(step.limits, id, task.priority)
  if key then
    released.apart[id] = key
    table.insert(released.apart, {id = id, priority = task.priority})
  elseif due_at or has_tombstone(step.tombstones, id) then
    add_due(step, id, task.priority, due_at or step.now_ms)
  else
    table.insert(released[task.priority], id)
  end
  write_unstarted(step, id, task, reason)
end

-- Puts the *released* ids at the front of their ready lists, or of the tasks of their limit key that are kept apart.
local function write_released(step, released)
  for i = #released.apart, 1, -1 do
    local task = released.apart[i]
    keep_first_apart(step.limits, released.apart[task.id], task.id, task.priority)
  end
  for priority = 1, 3 do
    local ids = released[priority]
    for i = #ids, 1, -1 do
      redis.call('LPUSH', step.keys.ready[priority], ids[i])
      step.has_ready[priority] = true
    end
  end
end
