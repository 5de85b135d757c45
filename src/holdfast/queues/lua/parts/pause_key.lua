-- Changes the limit keys of tasks that a worker has claimed.
-- Needs the parts: limit_key, admit.

-- Returns the key of an admitted task; nil if the task is not limited.
local function key_of_admitted(limits, id)
  local score = redis.call('ZSCORE', limits.admitted, id)
  return score and key_at(limits, math.floor(score / ADMITTED_KEY))
end

-- Lets no task start for *ms* that has the same key as the task *id*.
local function pause_key(limits, id, ms)
  local key = key_of_admitted(limits, id)
  if key then
    key.not_before = math.max(key.not_before, limits.now_ms + ms)
    write_key(limits, key)  -- the permits of the settled tasks are given back next, which writes it
  end
end

-- Stores that an admitted task does not run any more, and is ready or due again. If its key may have only one ready
-- task and has one, changes nothing and returns the key.
local function unstart(limits, id, priority)
  local key = key_of_admitted(limits, id)
  if key and ready_left(limits, key, priority) <= 0 then
    return key
  elseif key then
    redis.call('ZADD', limits.admitted, ADMITTED_KEY * key.slot + priority, id)
  end
  return nil
end
