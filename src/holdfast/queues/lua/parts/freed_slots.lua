-- Finds the keys that may admit a task once others of theirs have ended. A worker settles many tasks in a step, and
-- most of their keys have nothing to admit. So this part reads no record of a key.
-- Expects: limit, limit_key.

-- Reads the definitions of limits, unless there are very many. Sets in *limits* what all of them have in common:
--   least_concurrency  the lowest concurrency; 0 if it is not known, math.huge if no definition has one
--   any_piled          whether several tasks of a key with a concurrency may be ready at once
local function read_definitions(limits)
  limits.least_concurrency, limits.any_piled = 0, false
  if redis.call('HLEN', limits.settings) > 64 then
    return
  end
  limits.least_concurrency = math.huge
  local found = redis.call('HRANDFIELD', limits.settings, 64, 'WITHVALUES')  -- so all of them
  for i = 1, #found, 2 do
    local name = found[i]:match('^limit:(.*)$')
    if name then
      local definition = parsed_definition(found[i + 1])
      limits.definitions[name] = definition
      if definition.concurrency > 0 then
        limits.least_concurrency = math.min(limits.least_concurrency, definition.concurrency)
        limits.any_piled = limits.any_piled or not definition.one_ready
      end
    end
  end
end

-- Returns whether no task of the key with this slot is kept apart. One read answers for all slots up to that of the next
-- task: *none* says from which score on, and before which one, there is no task.
local function none_apart(limits, slot, none)
  local first = LIMITED_KEY * slot
  if first < none.from or first >= none.before then
    local found = redis.call('ZRANGE', limits.limited, first, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    none.from, none.before = first, tonumber(found[2]) or math.huge
  end
  return first + LIMITED_KEY <= none.before
end

-- Returns whether the key with this slot surely had room before *freed* of its tasks ended. Then nothing waits for a
-- place that they give back.
local function had_room(limits, slot, freed, none)
  local least, first = limits.least_concurrency, ADMITTED_KEY * slot
  if least == math.huge or limits.any_piled and none_apart(limits, slot, none) then
    return true
  end
  local is_countable = not (least == 0 or limits.any_piled or limits.is_changed or limits.counted_keys[1])
  return is_countable and redis.call('ZCOUNT', limits.admitted, first, first + ADMITTED_KEY - 1) + freed < least
end

-- Returns those of *slots* that may admit a task. By slot, *freed* is how many of its tasks have ended, and *ran*
-- whether all of them ran.
local function freed_slots(limits, slots, freed, ran)
  local found, none = {}, {from = 0, before = 0}
  if #slots > 0 and not limits.least_concurrency then
    read_definitions(limits)
  end
  for _, slot in ipairs(slots) do
    if not ran[slot] or not had_room(limits, slot, freed[slot], none) then
      found[#found + 1] = slot
    end
  end
  return found
end
