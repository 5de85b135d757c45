-- Adds costs at the end of a log, and merges entries of a long log.
-- Needs the parts: format, state, log.

local function packed_entry(at, cost)
  return struct.pack(ENTRY, at, math.min(cost, MOST_COST))
end

-- Returns the length of a 64th of the period (ms). Entries of a long log that are in the same 64th are merged.
local function grain_of(log)
  return math.ceil(log.per / EXACT)
end

-- Merges the entries of a long log that are in the same 64th of a period into the latest one of them. All entries
-- that are older than a period become one entry. So the log has 66 entries at most.
local function merge_if_long(log)
  if #log.entries < MOST * SIZE then
    return
  end
  local grain = grain_of(log)
  local merged, current, until_ms, sum = {}, nil, 0, 0
  local old = last_at(log) - log.per
  for i = 1, #log.entries, SIZE do
    local at, cost = struct.unpack(ENTRY, log.entries, i)
    local group = at <= old and -1 or math.floor(at / grain)
    if current and group ~= current then
      merged[#merged + 1] = packed_entry(until_ms, sum)
      sum = 0
    end
    current, until_ms, sum = group, at, sum + cost
  end
  merged[#merged + 1] = packed_entry(until_ms, sum)
  log.entries = table.concat(merged)
  log.total = sum_of(log.entries)
end

-- Adds *cost* at the instant *at*, which is not before the last one.
local function add_entry(log, at, cost)
  if cost == 0 then
    return
  end
  local grain, size = grain_of(log), #log.entries
  local last, past, _ = last_at(log), 0
  local is_near = size >= EXACT * SIZE and math.floor(last / grain) == math.floor(at / grain)
  if size > 0 and (last == at or is_near) then
    _, past = struct.unpack(ENTRY, log.entries, size - SIZE + 1)
    log.entries = log.entries:sub(1, size - SIZE)
  end
  cost = math.min(cost, MOST_COST - past)
  log.entries = log.entries .. packed_entry(at, past + cost)
  log.total = log.total + cost
  merge_if_long(log)
end
