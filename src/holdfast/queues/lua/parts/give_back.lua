-- Gives back the permits of tasks that do not run any more, or are removed, and admits the next ones. Keys that no
-- task uses any more are forgotten later (see parts/idle_keys).
-- Needs the parts: limit_key, write_limits, idle_keys, admit, admit_next, freed_slots.

-- Returns the slots of the keys of admitted tasks with these *scores*; for each slot, the number of these tasks, and
-- whether all of them ran.
local function slots_of(scores)
  local slots, freed, ran = {}, {}, {}
  for _, score in ipairs(scores) do
    if score then
      local at = score + 0
      local lane = at % ADMITTED_KEY
      local slot = (at - lane) / ADMITTED_KEY
      if not freed[slot] then
        slots[#slots + 1], freed[slot], ran[slot] = slot, 0, true
      end
      freed[slot], ran[slot] = freed[slot] + 1, ran[slot] and lane == 0
    end
  end
  return slots, freed, ran
end

-- Removes the permits of the tasks in *ids*, and admits other tasks of their keys. Returns how many.
local function admit_instead(limits, ids)
  local scores = redis.call('ZMSCORE', limits.admitted, unpack(ids))
  if redis.call('ZREM', limits.admitted, unpack(ids)) == 0 then
    return 0
  end
  local admitted, slots, freed, ran = 0, slots_of(scores)
  slots = freed_slots(limits, slots, freed, ran)
  read_keys_at(limits, slots)
  for _, slot in ipairs(slots) do
    local key = limits.by_slot[slot]
    if key.definition.concurrency > 0 or not ran[slot] then
      admitted = admitted + admit_next(limits, key, freed[slot], ran[slot])
    end
  end
  return admitted
end

-- Gives back the permits of the tasks in *ids*, which may have none. *ran*: whether all of them ran. Returns how many
-- tasks were admitted.
local function give_back(limits, ids, ran)
  write_limits(limits)
  local admitted = 0
  if redis.call('ZCARD', limits.limited) > 0 then
    if has_permits(limits) or not ran then
      admitted = admit_instead(limits, ids)
    else
      redis.call('ZREM', limits.admitted, unpack(ids))
    end
    write_limits(limits)
  else  -- nothing waits for a permit
    local has_freed = redis.call('ZREM', limits.admitted, unpack(ids)) > 0
    write_limits(limits)
    if has_freed then expire_keys(limits) end
  end
  return admitted
end
