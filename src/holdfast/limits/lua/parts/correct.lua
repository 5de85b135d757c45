-- Corrections of a log.
-- Needs the parts: format, state, log, entries.

-- Returns the position of the first entry that passes at the instant *at* or later; behind the last one if none does.
local function position_of(log, at)
  for i = #log.entries - SIZE + 1, 1, -SIZE do
    if struct.unpack('>I6', log.entries, i) < at then
      return i + SIZE
    end
  end
  return 1
end

-- Adds *change* to the cost that passes at the instant *at*. Removes entries with a cost of 0 from the end of the log,
-- so that later costs may pass at their instants.
local function correct_entry(log, at, change)
  local i, when, cost, _ = position_of(log, at), nil, 0
  if i <= #log.entries then
    when, cost = struct.unpack(ENTRY, log.entries, i)
  end
  local before, after = log.entries:sub(1, i - 1), log.entries:sub(i + SIZE)
  if change > 0 and when ~= at then  -- No entry: its cost was 0, or it was merged.
    change = math.min(change, MOST_COST)
    before, after = before .. packed_entry(at, change), log.entries:sub(i)
  else
    change = math.min(math.max(change, -cost), MOST_COST - cost)
    before = when and before .. packed_entry(when, cost + change) or before
  end
  log.entries = before .. after
  log.total = math.max(0, log.total + change)
  local kept = 0
  for n = 1, #log.entries, SIZE do
    _, cost = struct.unpack(ENTRY, log.entries, n)
    kept = cost > 0 and n + SIZE - 1 or kept
  end
  log.entries = log.entries:sub(1, kept)
  merge_if_long(log)
end
