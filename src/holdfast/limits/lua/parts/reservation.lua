-- A reservation: one decision about one subject.
-- Needs the parts: stored, format, state, marks, log, entries, write_state, reserve_now.

local LONGEST = 100 * 366 * 86400 * 1000  -- longest wait (ms): the state has no room for later instants

-- Returns the reply to a reservation that was made or refused: see limits/reserve.
local function answer_of(is_reserved, wait_ms, at, wall_ms, limits, logs, now)
  local answer = {is_reserved, wait_ms, at, wall_ms}
  for i, limit in ipairs(limits) do
    local log = logs[i]
    answer[#answer + 1] = math.max(0, limit.amount - log.total)
    answer[#answer + 1] = log.entries == '' and 0 or math.max(0, last_at(log) + log.per - now)
  end
  return answer
end

-- Reserves in *key* the earliest instant at which *costs* fit into all *limits* (tag, amount, per), or none of them.
-- See limits/reserve for *mark*, *longest*, *age* and the reply. Raises before it writes, or not at all.
local function reserve(key, mark, longest, age, limits, costs, wall_ms)
  local stored = redis.call('GET', key)
  if stored and age == '' and #limits == 1 then
    local limit = limits[1]
    local changed, total = reserve_now(stored, wall_ms, mark, limit.tag, limit.amount, limit.per, costs[1])
    if changed then
      redis.call('SET', key, changed, 'PX', limit.per)
      return {1, 0, wall_ms, wall_ms, limit.amount - total, limit.per}
    end
  end
  local state = read_state(stored, key, wall_ms)
  local marked = marked_at(state, mark, age)
  local at, logs = state.now, {}
  for _, log in ipairs(state.logs) do
    at = math.max(at, last_at(log))
  end
  for i, limit in ipairs(limits) do
    logs[i] = log_of(state, limit.tag, limit.per)
  end
  if marked then
    at = marked
  else
    for i, limit in ipairs(limits) do
      at = earliest(logs[i], limit.amount, costs[i], at)
    end
  end
  local wait_ms = math.max(0, at - state.now)
  local is_short = wait_ms <= math.min(tonumber(longest) or LONGEST, LONGEST)
  local is_reserved = marked or marked == nil and is_short
  if is_reserved and not marked then
    for i, log in ipairs(logs) do
      add_entry(log, at, costs[i])
    end
    add_mark(state, mark, at)
    write_state(state, key)
  elseif state.set_back then
    -- The server's clock was set back. Store the new difference: otherwise the clock of the state would stand still
    -- until the server's clock has caught up.
    write_state(state, key)
  end
  return answer_of(is_reserved and 1 or marked == false and -1 or 0, wait_ms, at, wall_ms, limits, logs, state.now)
end
