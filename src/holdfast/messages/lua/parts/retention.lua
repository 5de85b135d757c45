-- How long a chat keeps its messages. *unit* is told how many, `keep`; or with `until_read` also
-- `idle_ms`, `since_ms` and `counted_ms`.
-- Expects: sound, log, last_seen.

local MOST = 100000         -- messages of a chat, whatever its readers do
local LARGE = 1000          -- with more, sending looks too whether they are still needed
local LOOK_MS = 60000       -- so often, unless one moves who held messages back
local SECOND_MS = 1000      -- in which one was seen; nobody is let go too early
local PAGE, PAGES = 100, 100  -- readers looked at: all of them, if need be

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

-- The first message that an active reader still has to read.
local function first_needed(unit)
  local since_ms, active_ms = unit.since_ms, unit.now_ms - unit.idle_ms
  for page = 0, PAGES - 1 do
    local low = redis.call('ZRANGE', unit.cursors, page * PAGE, page * PAGE + PAGE - 1, 'WITHSCORES')
    if #low == 0 then break end
    local readers = {}
    for i = 1, #low, 2 do readers[#readers + 1] = low[i] end
    for n, life in ipairs(redis.call('HMGET', unit.active, unpack(readers))) do
      local seen_ms = (tonumber(life_ms(life, unit.epoch)) or 0) + SECOND_MS
      if math.max(seen_ms, since_ms) >= active_ms then
        return math.min(math.floor(tonumber(low[2 * n])), unit.top) + 1
      end
    end
  end
  return unit.floor
end

-- *cursor* is where a reader stood that moved on or left; nil when a message came.
local function retain(unit, cursor)
  if unit.keep then
    drop_below(unit, unit.top - unit.keep + 1)
  elseif unit.until_read then
    local many, ago_ms = unit.top - unit.floor > LARGE, math.abs(unit.now_ms - unit.counted_ms)
    local late = ago_ms > LOOK_MS and (cursor or many)
    if late or (cursor and cursor < unit.floor) then
      redis.call('HSET', unit.meta, 'counted', unit.now_ms)
      drop_below(unit, first_needed(unit))
    end
    drop_below(unit, unit.top - MOST + 1)
  end
end
