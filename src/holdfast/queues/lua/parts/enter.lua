-- Queues limited tasks: those that are new, and those with a delay that is over.
-- Needs the parts: key_of, write_limits, idle_keys, admit, keep_apart.

-- Queues a task. Returns whether it is admitted; otherwise it is kept apart until its key has room.
local function enter(limits, limit, id, priority)
  local key = key_of(limits, limit)
  local has_room = has_room(limits, key, priority)
  if has_room then
    admit(limits, key, id, priority)
  else
    keep_apart(limits, key, id, priority)
  end
  write_limits(limits)
  if key.is_new then
    key.is_new = false
    forget_some_keys(limits)
  end
  return has_room
end
