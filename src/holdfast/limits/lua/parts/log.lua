-- The log of one limit: the instants at which costs pass, ascending, from one period ago into the future.
-- Needs the parts: format, state.

local EXACT = 64  -- In a log with fewer entries, none are merged.
local MOST = 128  -- A log with so many entries is long: its entries are merged.

local function last_at(log)
  return log.entries == '' and 0 or (struct.unpack('>I6', log.entries, #log.entries - SIZE + 1))
end

-- Removes the entries up to the instant *until*.
local function drop_old(log, until_ms)
  local first = 1
  for i = 1, #log.entries, SIZE do
    local at, cost = struct.unpack(ENTRY, log.entries, i)
    if at > until_ms then
      break
    end
    first, log.total = i + SIZE, math.max(0, log.total - cost)
  end
  log.entries = first > 1 and log.entries:sub(first) or log.entries
end

-- Returns the log of a limit without the entries that are older than its period; a new log if there is none.
local function log_of(state, tag, per_ms)
  local log = state.by_tag[tag] or {tag = tag, entries = '', total = 0}
  if not state.by_tag[tag] then
    state.logs[#state.logs + 1], state.by_tag[tag] = log, log
  end
  log.per = per_ms
  drop_old(log, state.now - per_ms)
  return log
end

-- Returns the earliest instant from *at* at which *cost* fits: in the period that ends then, no more than
-- *amount* passes.
local function earliest(log, amount, cost, at)
  local used = log.total
  for i = 1, #log.entries, SIZE do
    local when, past = struct.unpack(ENTRY, log.entries, i)
    local is_inside = when + log.per > at
    if is_inside and (used + cost <= amount or cost == 0) then
      break
    end
    at = is_inside and when + log.per or at
    used = used - past
  end
  return at
end
