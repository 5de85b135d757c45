-- How long a chat keeps its messages. Expects: stored, log, last_seen.

local MOST = 100000         -- messages of a chat, whatever its readers do
local LARGE = 1000          -- a chat with more messages looks for unneeded ones also in `send`
local COUNT_MS = 60000      -- between two looks, unless a reader that held messages back moves on
local SECOND_MS = 1000      -- the precision of `active`: a reader counts to the end of its second
local PAGE, PAGES = 100, 100  -- readers looked at: all of them if necessary

-- Reads how many messages are kept, `keep`; or `until_read`, `idle_ms`, `since_ms` and `counted_ms`.
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

-- The number of the first message that an active reader still has to read.
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

-- Drops messages. *cursor* is the old cursor of a reader that moved on or left; nil after `send`.
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
