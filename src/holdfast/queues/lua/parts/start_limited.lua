-- Starts tasks that have a limit key.
-- Needs the parts: limit_key, starts, write_limits, turns, admit, admit_next.

-- Returns until when no task of *key* may start (ms); nil if one may start now.
local function blocked_until(limits, key)
  local until_ms = key.not_before
  if key.definition.amount > 0 then
    until_ms = math.max(until_ms, (next_start(key.starts, key.definition, limits.now_ms)))
  end
  return until_ms > limits.now_ms and until_ms or nil
end

-- Returns whether as many tasks of *key* run as may run. This can happen after the concurrency was reduced.
local function is_full(limits, key)
  local concurrency, first = key.definition.concurrency, ADMITTED_KEY * key.slot
  return concurrency > 0
    and redis.call('ZCOUNT', limits.admitted, first, first) + (limits.started_now[key.slot] or 0) >= concurrency
end

-- Stores that a task of *key* starts now, and admits the next one if the key has one ready task at a time.
local function start(limits, key, id, priority)
  local definition = key.definition
  set_admitted(limits, key.slot, id, 0)
  if limits.is_changed then
    limits.started_now[key.slot] = (limits.started_now[key.slot] or 0) + 1
  end
  if definition.amount > 0 then
    key.starts = with_starts(key.starts, definition, limits.now_ms, 1)
    write_key(limits, key)
  end
  limits.follows = true
  if definition.one_ready and not follow(limits, key, priority) and definition.fair then
    end_turn(limits, key, priority, turn_now(limits, priority))
  end
  limits.follows = false
end
