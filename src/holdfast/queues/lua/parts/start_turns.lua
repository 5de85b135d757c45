-- Starts the tasks of a chunk at once if the limits of the queue do nothing but make their keys take turns.
-- Needs the parts: tombstones, limit_key, read_ahead, write_limits, turns.

-- Starts the tasks in `starting`, which a step claims: slot and id of each. Does for all of them what `start` in
-- parts/start_limited does for one, and reads no records but those of keys without another task.
local function start_turns(limits, priority)
  local starting, ready, left, ended, ended_at = limits.starting, limits.ready_now[priority], limits.left, {}, {}
  local admitted, n = limits.admitted_now, #limits.admitted_now
  for i = 1, #starting, 2 do
    local slot = starting[i]
    local first = LIMITED_KEY * slot + LIMITED_LANE * priority
    local id = apart_from(limits, first, first + LIMITED_LANE)
    admitted[n + 1], admitted[n + 2], n = ADMITTED_KEY * slot, starting[i + 1], n + 2
    if not id then
      ended[#ended + 1], ended_at[#ended_at + 1] = slot, turn_now(limits, priority)
    else
      admitted[n + 1], admitted[n + 2], n = ADMITTED_KEY * slot + priority, id, n + 2
      left[#left + 1] = id
      if limits.tombstones and has_tombstone(limits.tombstones, id) then
        redis.call('ZADD', limits.due[priority], limits.now_ms, id)
      else
        ready[#ready + 1] = id
        limits.turns_now[priority] = limits.turns_now[priority] + 1
      end
    end
  end
  read_keys_at(limits, ended)
  for k, slot in ipairs(ended) do
    end_turn(limits, limits.by_slot[slot], priority, ended_at[k])
  end
  limits.starting = {}
end
