-- Starts the tasks of a chunk at once if the limits of the queue do nothing but make their keys take turns.
-- Needs the parts: limit_key, read_ahead, write_limits, turns, admit.

-- Starts the tasks in `starting`, which a step claims. Does for all of them what `start` in parts/start_limited does for
-- one, and reads no records but those of keys without another task.
local function start_turns(limits, priority)
  local starting, ready, left, ended, turns = limits.starting, limits.ready_now[priority], limits.left, {}, {}
  limits.follows = true
  for i = 1, #starting, 2 do
    local slot = starting[i]
    local first = LIMITED_KEY * slot + LIMITED_LANE * priority
    local id = apart_from(limits, first, first + LIMITED_LANE)
    set_admitted(limits, slot, starting[i + 1], 0)
    if not id then
      ended[#ended + 1], turns[#turns + 1] = slot, turn_now(limits, priority)
    elseif limits.tombstones then
      admit_apart(limits, key_at(limits, slot), id, priority)
    else
      set_admitted(limits, slot, id, priority)
      left[#left + 1], ready[#ready + 1] = id, id
      limits.turns_now[priority] = limits.turns_now[priority] + 1
    end
  end
  limits.follows = false
  read_keys_at(limits, ended)
  for n, slot in ipairs(ended) do
    end_turn(limits, limits.by_slot[slot], priority, turns[n])
  end
end
