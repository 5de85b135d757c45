-- Adds events to a running task.
-- Needs the parts: stored.

local EVENTS_LIMIT = 1000     -- events that are kept of a task
local BYTES_LIMIT = 1048576   -- bytes of them
local UNENDED_MS = 604800000  -- a task that has not ended keeps its events for a week after the last one

-- Returns what is stored of a task: the number of its last event, the bytes of its events, its progress, and how many
-- events its list has. *entry* is its entry in `progress`, or false. Call this before the first write.
local function known_events(progress, id, entry, events)
  local number, bytes, shown = (entry or '0:0:'):match('^(%d+):(%d+):(.*)$')
  return {
    number = whole(number, 0, EXACT, 'field ' .. id, progress), bytes = whole(bytes, 0, EXACT, 'field ' .. id, progress),
    shown = shown, length = redis.call('LLEN', events),
  }
end

-- Drops the oldest events, so that the list is within its limits. Returns the bytes of the others.
local function trim_events(events, length, bytes)
  if length > EVENTS_LIMIT then
    for _, dropped in ipairs(redis.call('LPOP', events, length - EVENTS_LIMIT)) do
      bytes = bytes - #dropped
    end
  end
  for _ = 1, EVENTS_LIMIT do  -- none is larger than the limit
    if bytes <= BYTES_LIMIT then break end
    bytes = bytes - #redis.call('LPOP', events)
  end
  return bytes
end

-- Adds *added*, an array of kinds and JSON, to the list *events* of a task. *known* is what `known_events` returned.
-- The worker has dropped *dropped* events before them, and *shown* is the latest progress, if it is new. Returns the
-- entry of the task in `progress`, for the caller to write.
local function append_events(events, known, attempt, now_ms, dropped, shown, added)
  local number, bytes, length, records = known.number + dropped, known.bytes, known.length, {}
  if known.number == 0 or dropped > 0 or length == 0 then  -- a list has no gaps; at 0, an earlier task left it
    redis.call('UNLINK', events)
    bytes, length = 0, 0
  end
  local facts = string.format(':%.0f:%s:', now_ms, attempt)
  for n, event in ipairs(added) do
    records[n] = string.format('%.0f', number + n) .. facts .. event
    bytes = bytes + #records[n]
  end
  if #records > 0 then
    redis.call('RPUSH', events, unpack(records))
    bytes = trim_events(events, length + #records, bytes)
    redis.call('PEXPIRE', events, UNENDED_MS)
  end
  shown = shown == '' and known.shown or string.format('%.0f:', now_ms) .. shown
  return string.format('%.0f:%.0f:', number + #records, bytes) .. shown
end
