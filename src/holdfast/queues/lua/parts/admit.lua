-- Admits tasks that have a limit key. An admitted task has a permit of its key: it is ready, or due, or
-- runs. A task without a permit is *kept apart* once its delay is over: it is only in the set `limited`, so
-- a claim never examines it (see queues/keys.py).
-- Needs the parts: tombstones, limit_key, write_limits, turns.

-- Returns how many more tasks of *key* its concurrency allows to admit.
local function concurrency_left(limits, key)
  local concurrency, first = key.definition.concurrency, ADMITTED_KEY * key.slot
  return concurrency == 0 and math.huge or concurrency
    - redis.call('ZCOUNT', limits.admitted, first, first + ADMITTED_KEY - 1)
end

-- Returns how many more tasks of *key* may be ready with this priority, if that is limited.
local function ready_left(limits, key, priority)
  local lane = ADMITTED_KEY * key.slot + priority
  return key.definition.one_ready and 1 - redis.call('ZCOUNT', limits.admitted, lane, lane) or math.huge
end

-- Returns whether one more task of *key* may be admitted.
local function has_room(limits, key, priority)
  write_limits(limits)
  return concurrency_left(limits, key) > 0 and ready_left(limits, key, priority) > 0
end

-- Gives a permit of *key* to a task, and puts it where it waits for a worker.
local function admit(limits, key, id, priority)
  set_admitted(limits, key.slot, id, priority)
  if limits.tombstones and has_tombstone(limits.tombstones, id) then
    redis.call('ZADD', limits.due[priority], limits.now_ms, id)
  elseif key.definition.fair then
    take_turn(limits, key, id, priority)
  else
    local ready = limits.ready_now[priority]
    ready[#ready + 1] = id
  end
end

-- Returns the first tasks of *key* that are kept apart, at most *most*, with their scores. Begins at *priority*.
local function first_apart(limits, key, priority, most)
  local first = LIMITED_KEY * key.slot
  return redis.call('ZRANGE', limits.limited, first + LIMITED_LANE * priority, first + LIMITED_KEY - 1, 'BYSCORE',
    'LIMIT', 0, most, 'WITHSCORES')
end

-- Admits a task that is kept apart.
local function admit_apart(limits, key, id, priority)
  limits.left[#limits.left + 1] = id
  admit(limits, key, id, priority)
end
