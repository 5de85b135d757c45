-- Drops messages that a chat does not keep any more. Needs the parts: stored, log, last_seen.

local MOST = 100000         -- maximum number of messages of a chat, whatever its readers do
local LARGE = 1000          -- number of messages above which send.lua also searches for messages to drop
local COUNT_MS = 60000      -- time between two searches, unless a reader for which messages were kept has read on
local SECOND_MS = 1000      -- precision of `active`: a reader counts as active until the end of the stored second
local PAGE, PAGES = 100, 100  -- readers that are checked at a time, and how often: all 10,000 if necessary

-- Adds to *unit*: `until_read`; if true, `idle_ms`, `since_ms`, `counted_ms`; otherwise `keep` (nil for a mailbox).
local function read_retention(unit)
  local meta = unit.meta
  unit.until_read = unit.kept == 'until_read'
  if unit.until_read then
    local stored = redis.call('HMGET', meta, 'idle_ms', 'since', 'counted')
    unit.idle_ms = whole(stored[1], 0, EXACT, 'field idle_ms', meta)
    unit.since_ms = whole(stored[2], 0, EXACT, 'field since', meta)
    unit.counted_ms = whole(stored[3] or '0', 0, EXACT, 'field counted', meta)
  elseif unit.kept then
    unit.keep = whole(unit.kept, 1, MOST, 'field keep', meta)
  end
end

local function drop_below(unit, number)
  if number > unit.floor then
    unit.floor = number
    redis.call('XTRIM', unit.log, 'MINID', '~', number - 1)
  end
end

-- Returns the number of the first message that an active reader still has to read; the floor if no reader is active.
local function first_needed(unit)
  local since_ms, active_ms = unit.since_ms, unit.now_ms - unit.idle_ms
  for page = 0, PAGES - 1 do
    local low = redis.call('ZRANGE', unit.cursors, page * PAGE, page * PAGE + PAGE - 1, 'WITHSCORES')
    if #low == 0 then break end
    local readers = {}
    for i = 1, #low, 2 do readers[#readers + 1] = low[i] end
    for n, stored in ipairs(redis.call('HMGET', unit.active, unpack(readers))) do
      local seen_ms = (tonumber(last_seen_ms(stored, unit.epoch)) or 0) + SECOND_MS
      if math.max(seen_ms, since_ms) >= active_ms then
        return math.min(math.floor(tonumber(low[2 * n])), unit.top) + 1
      end
    end
  end
  return unit.floor
end

-- Drops messages. *cursor* is the former cursor of a reader that acknowledged messages or left; nil after `send`.
local function retain(unit, cursor)
  if unit.keep then
    drop_below(unit, unit.top - unit.keep + 1)
  elseif unit.until_read then
    local many, ago_ms = unit.top - unit.floor > LARGE, math.abs(unit.now_ms - unit.counted_ms)
    local due = ago_ms > COUNT_MS and (cursor or many)
    if due or (cursor and cursor < unit.floor) then
      redis.call('HSET', unit.meta, 'counted', unit.now_ms)
      drop_below(unit, first_needed(unit))
    end
    drop_below(unit, unit.top - MOST + 1)
  end
end
