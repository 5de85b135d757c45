-- Admits the next tasks of a key, once it has room.
-- Needs the parts: limit_key, write_limits, read_ahead, admit.

-- Admits one task of each priority for which none is ready. *left*: how many the concurrency allows.
local function admit_one_each(limits, key, left)
  local admitted, priority = 0, 1
  for _ = 1, 3 do
    local found = priority <= 3 and left > admitted and first_apart(limits, key, priority, 1) or {}
    if not found[1] then
      break
    end
    priority = math.floor((found[2] - LIMITED_KEY * key.slot) / LIMITED_LANE)
    if ready_left(limits, key, priority) > 0 then
      admit_apart(limits, key, found[1], priority)
      admitted = admitted + 1
    end
    priority = priority + 1
  end
  return admitted
end

-- Admits up to *most* tasks of *key* that are kept apart, while there is room. The caller has given back *most*
-- permits, so there is room for so many, unless a definition has changed. *ran*: whether all tasks that had these
-- permits ran. Returns how many were admitted.
local function admit_next(limits, key, most, ran)
  if key.definition.one_ready then
    local left = concurrency_left(limits, key)
    -- A key that has a permit left has a ready task of each priority, or none is kept apart.
    local had_room = ran and left > most and not limits.is_changed
    return had_room and 0 or admit_one_each(limits, key, left)
  end
  local found = first_apart(limits, key, 1, most)
  local left = #found / 2
  if left > 0 and limits.is_changed then
    left = math.min(concurrency_left(limits, key), left)
  end
  for i = 1, 2 * left, 2 do
    admit_apart(limits, key, found[i], math.floor((found[i + 1] - LIMITED_KEY * key.slot) / LIMITED_LANE))
  end
  return math.max(left, 0)
end

-- Admits the next task of *key* after one with this priority has started, if only one may be ready. No other one is
-- ready then, unless a definition has changed. Returns whether a task was admitted.
local function follow(limits, key, priority)
  if limits.is_changed then write_limits(limits) end
  local first = LIMITED_KEY * key.slot + LIMITED_LANE * priority
  local id = apart_from(limits, first, first + LIMITED_LANE)
  if id and (key.definition.concurrency == 0 or concurrency_left(limits, key) > 0)
    and (not limits.is_changed or ready_left(limits, key, priority) > 0) then
    admit_apart(limits, key, id, priority)
    return true
  end
  return false
end
