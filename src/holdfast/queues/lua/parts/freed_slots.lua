-- Finds the limit keys that may admit a task after other tasks of the same key have ended. A worker settles many tasks
-- in a step, and most of their keys have nothing to admit. So this part reads no record of a key.
-- Needs the parts: limit, limit_key, read_ahead.

-- Reads the definitions of limits, unless there are very many. Sets in *limits* what all of them have in common:
--   least_concurrency  the lowest concurrency; 0 if it is not known, math.huge if no definition has one
--   any_piled          whether several tasks of a key with a concurrency may be ready at once
--   only_turns         whether they do nothing but make their keys take turns
local function read_definitions(limits)
  limits.least_concurrency, limits.any_piled, limits.only_turns = math.huge, false, nil
  local found = redis.call('HRANDFIELD', limits.settings, 64, 'WITHVALUES')  -- all of them, if there are fewer
  for i = 1, #found, 2 do
    local name = found[i]:match('^limit:(.*)$')
    if name then
      local definition = parsed_definition(found[i + 1])
      limits.definitions[name] = definition
      limits.only_turns = limits.only_turns ~= false and found[i + 1] == '0 0 0 1'
      if definition.concurrency > 0 then
        limits.least_concurrency = math.min(limits.least_concurrency, definition.concurrency)
        limits.any_piled = limits.any_piled or not definition.one_ready
      end
    end
  end
  if #found >= 2 * 64 then
    limits.least_concurrency, limits.only_turns = 0, false
  end
end

-- Returns whether other tasks may wait for the permits of tasks that ran. They do not if no limit has a concurrency.
local function has_permits(limits)
  if not limits.least_concurrency then
    read_definitions(limits)
  end
  return limits.least_concurrency < math.huge or limits.is_changed
end

-- Returns whether the key with this slot surely had room before *freed* of its tasks ended. Then nothing waits for a
-- permit that they give back.
local function had_room(limits, slot, freed)
  local least, first = limits.least_concurrency, ADMITTED_KEY * slot
  if least == math.huge then
    return true
  end
  local is_countable = not (least == 0 or limits.any_piled or limits.is_changed)
  return is_countable and redis.call('ZCOUNT', limits.admitted, first, first + ADMITTED_KEY - 1) + freed < least
end

-- Returns those of *slots* that may admit a task. *freed* has the number of tasks that have ended for each slot, and
-- *ran* whether all of these ran.
local function freed_slots(limits, slots, freed, ran)
  local found = {}
  limits.questions = #slots
  for _, slot in ipairs(slots) do
    local was_free = ran[slot] and had_room(limits, slot, freed[slot])
    if not was_free and apart_from(limits, LIMITED_KEY * slot, LIMITED_KEY * (slot + 1)) then
      found[#found + 1] = slot
    end
  end
  return found
end
