-- Enqueues the task of one occurrence of a schedule.
-- Needs the parts: add_tasks, unique, enqueue_unique, change_task.

-- Adds one task to *batch*, or changes the task that holds its key. Returns whether it did, and the id of
-- the task that runs for this occurrence.
local function fire_task(queue, batch, id, priority, expires, envelope)
  local unique = unique_of(envelope)
  if redis.call('HEXISTS', queue.bodies, id) == 1 then
    return true, id
  elseif unique then
    write_tasks(queue, batch)  -- the holder may be among these tasks
    local digit, holder = decide(queue, {}, id, unique, envelope)
    if digit == '1' then
      take_new_key(queue, unique, id)
    else
      local changes = digit == '3' or digit == '4'
      if changes then
        change_task(queue, holder, unique, priority, '0', expires, envelope)
      end
      return changes, holder
    end
  end
  add_task(queue, batch, id, priority, '0', expires, envelope)
  return true, id
end
