-- Gives back the permits of tasks that do not run any more, or are removed, and admits the next ones. Keys that no
-- task uses any more are forgotten later (see parts/idle_keys).
-- Expects: limit_key, write_limits, idle_keys, admit, admit_next, freed_slots.

-- Returns the slots of the keys of admitted tasks with these *scores*; for each slot, the number of these tasks, and
-- whether all of them ran. Leaves out tasks that ran if no limit has a concurrency, because nothing waits for their
-- permits.
local function slots_of(limits, scores)
  local slots, freed, ran = {}, {}, {}
  local has_no_permits = limits.least_concurrency == math.huge and not limits.is_changed
  for _, score in ipairs(scores) do
    local lane = score and score % ADMITTED_KEY or 0
    if score and not (has_no_permits and lane == 0) then
      local slot = (score - lane) / ADMITTED_KEY
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
  elseif not limits.least_concurrency then
    read_definitions(limits)
  end
  local admitted, slots, freed, ran = 0, slots_of(limits, scores)
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

-- Gives back the permits of the tasks in *ids*, which may have none. Returns how many tasks were admitted.
local function give_back(limits, ids)
  local admitted = 0
  if redis.call('ZCARD', limits.limited) > 0 then
    admitted = admit_instead(limits, ids)
    write_limits(limits)
  else  -- nothing waits for a permit
    local has_freed = redis.call('ZREM', limits.admitted, unpack(ids)) > 0
    write_limits(limits)
    if has_freed then expire_keys(limits) end
  end
  return admitted
end
