-- Gives back the places of tasks that do not run any more, or are removed, and admits the next ones. Keys that no
-- task uses any more are forgotten later (see parts/idle_keys).
-- Expects: limit_key, write_limits, idle_keys, admit, admit_next, freed_slots.

-- Removes the tasks in *ids* from the admitted ones. Returns the slots of their keys, and by slot how many tasks
-- it were and whether all of them ran.
local function remove_admitted(limits, ids)
  local slots, freed, ran = {}, {}, {}
  for _, score in ipairs(redis.call('ZMSCORE', limits.admitted, unpack(ids))) do
    if score then
      local slot = math.floor(score / ADMITTED_KEY)
      if not freed[slot] then
        slots[#slots + 1], freed[slot], ran[slot] = slot, 0, true
      end
      freed[slot], ran[slot] = freed[slot] + 1, ran[slot] and score % ADMITTED_KEY == 0
    end
  end
  if #slots > 0 then
    redis.call('ZREM', limits.admitted, unpack(ids))
  end
  return slots, freed, ran
end

-- Gives back the places of the tasks in *ids*, which may have none. Returns how many tasks were admitted.
local function give_back(limits, ids)
  local admitted, slots, freed, ran = 0, remove_admitted(limits, ids)
  local has_freed = #slots > 0
  slots = freed_slots(limits, slots, freed, ran)
  read_keys_at(limits, slots)
  for _, slot in ipairs(slots) do
    local key = limits.by_slot[slot]
    if key.definition.concurrency > 0 or not ran[slot] then
      admitted = admitted + admit_next(limits, key, freed[slot], ran[slot])
    end
  end
  write_limits(limits)
  if has_freed then
    expire_keys(limits)
  end
  return admitted
end
