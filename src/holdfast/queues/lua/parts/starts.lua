-- The log of the last starts, for rates: no more than `amount` starts in any window of `per_ms`.
--
-- A log is text: `at*count`, separated by commas; '-' if it is empty. An instant is rounded up to the next ms.
-- So windows are exact for amounts up to START_ENTRIES. For larger ones, several starts share an entry
-- with the instant of the last one: a window is never shorter, but may be a little longer.

local START_ENTRIES = 32

-- Returns the entries of a log that are still in the window, and the number of their starts.
local function recent_starts(log, definition, now_ms)
  local entries, total = {}, 0
  for at, count in log:gmatch('(%d+)%*(%d+)') do
    if tonumber(at) > now_ms - definition.per_ms then
      entries[#entries + 1] = {at = tonumber(at), count = tonumber(count)}
      total = total + tonumber(count)
    end
  end
  return entries, total
end

-- Returns when the next start is allowed (ms), and how many starts are allowed now.
local function next_start(log, definition, now_ms)
  local entries, total = recent_starts(log, definition, now_ms)
  if total < definition.amount then
    return now_ms, definition.amount - total
  end
  for _, entry in ipairs(entries) do
    total = total - entry.count
    if total < definition.amount then
      return entry.at + definition.per_ms, 0
    end
  end
  return now_ms, 0
end

-- Returns the log with *count* starts now.
local function with_starts(log, definition, now_ms, count)
  local entries = recent_starts(log, definition, now_ms)
  local last = entries[#entries]
  if last and last.count < definition.amount / START_ENTRIES then
    last.at, last.count = math.max(last.at, now_ms + 1), last.count + count
  else
    entries[#entries + 1] = {at = math.max(last and last.at or 0, now_ms + 1), count = count}
  end
  local texts = {}
  for n, entry in ipairs(entries) do
    texts[n] = string.format('%.0f*%d', entry.at, entry.count)
  end
  return table.concat(texts, ',')
end
