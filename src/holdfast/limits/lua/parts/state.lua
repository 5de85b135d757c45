-- The state of a subject: its clock, the marks of its latest operations, and one log for each limit.
-- Needs the parts: stored, format.

local function fill_state(state, stored)
  local version, marks, logs, at
  version, state.seen, marks, logs, at = struct.unpack(HEAD, stored)
  state.marks = stored:sub(at, at + RECORD * marks - 1)
  at = at + RECORD * marks
  for i = 1, logs do
    local log, entries = {}, 0
    log.tag, log.per, entries, at = struct.unpack(LOG, stored, at)
    if entries > 1 then
      log.total, at = struct.unpack(SUM, stored, at)
    else  -- The cost is the last part of the only entry.
      log.total = struct.unpack(SUM, stored, at + SIZE - SUM_BYTES)
    end
    log.entries = stored:sub(at, at + SIZE * entries - 1)
    log.total = log.total < MOST_COST and log.total or sum_of(log.entries)
    at = at + SIZE * entries
    state.logs[i], state.by_tag[log.tag] = log, log
  end
  if at <= #stored then
    state.ahead, at = struct.unpack(AHEAD, stored, at)
  end
  if version ~= VERSION or at ~= #stored + 1 then
    error('damaged')
  end
end

-- Returns the state in *stored* (false: none). Its clock `now` never goes back: if the server's clock does,
-- the state stays ahead of it by the difference.
local function read_state(stored, key, wall_ms)
  local state = {seen = 0, ahead = 0, marks = '', logs = {}, by_tag = {}}
  if stored and not pcall(fill_state, state, stored) then
    damaged('the state', key)
  end
  state.now = math.max(wall_ms + state.ahead, state.seen)
  state.set_back = state.now > wall_ms + state.ahead
  state.ahead = state.now - wall_ms
  return state
end
