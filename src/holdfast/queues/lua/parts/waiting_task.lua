-- Reads and writes a unique task that waits, for a later call with the same key.
-- Needs the parts: add_tasks.
--
-- *queue* is as in parts/add_tasks, with the key `unique`, and with `keys.tombstones`.

-- Returns the priority of a task that waits, and when it is due (ms; nil if it is in a ready list).
local function place_of(queue, id)
  for priority = 1, 3 do
    local due_at = redis.call('ZSCORE', queue.due[priority], id)
    if due_at then
      return priority, tonumber(due_at)
    end
  end
  local numbers = {high = 1, medium = 2, low = 3}
  local readable, envelope = pcall(cjson.decode, redis.call('HGET', queue.bodies, id))
  return readable and numbers[envelope.priority] or numbers.medium, nil
end

-- Returns when a postponed task may start (ms): never earlier than before.
local function postponed_ms(queue, key, wait, due_at)
  local latest_ms = tonumber(redis.call('HGET', queue.unique, key):match('^%d+'))
  local start_ms = wait == '0' and 0 or epoch_ms_of(queue, wait)
  return math.max(due_at or 0, latest_ms > 0 and math.min(start_ms, latest_ms) or start_ms)
end
