-- How long a chat keeps its messages.
-- Expects: meta, log, cursors, active, now_s, now_ms, now_us, life_ms, whole, EXACT.

local MOST = 100000         -- messages of a chat, whatever its readers do
local LARGE = 1000          -- with more, sending looks too whether they are still needed
local LOOK_MS = 60000       -- so often, unless one moves who held messages back
local SECOND_MS = 1000      -- in which one was seen; nobody is let go too early
local PAGE, PAGES = 100, 100  -- readers looked at: all of them, if need be

local keep, until_read, idle_ms, since_ms, counted_ms = nil, known[5] == 'until_read', 0, 0, 0
if until_read then
  local terms = redis.call('HMGET', meta, 'idle_ms', 'since', 'counted')
  idle_ms = whole(terms[1], 0, EXACT, 'field idle_ms', meta)
  since_ms = whole(terms[2], 0, EXACT, 'field since', meta)
  counted_ms = whole(terms[3] or '0', 0, EXACT, 'field counted', meta)
elseif known[5] then
  keep = whole(known[5], 1, MOST, 'field keep', meta)
end

local function is_active(life)
  local seen_ms = (tonumber(life_ms(life, epoch)) or 0) + SECOND_MS
  return math.max(seen_ms, since_ms) >= now_ms - idle_ms
end

local function drop_below(number)
  if number > floor then
    floor = number
    redis.call('XTRIM', log, 'MINID', '~', floor - 1)
  end
end

-- The first message that an active reader still has to read.
local function first_needed()
  for page = 0, PAGES - 1 do
    local low = redis.call('ZRANGE', cursors, page * PAGE, page * PAGE + PAGE - 1, 'WITHSCORES')
    if #low == 0 then
      break
    end
    local readers = {}
    for i = 1, #low, 2 do readers[#readers + 1] = low[i] end
    for n, life in ipairs(redis.call('HMGET', active, unpack(readers))) do
      if is_active(life) then
        return math.min(math.floor(tonumber(low[2 * n])), top) + 1
      end
    end
  end
  return floor
end

-- *cursor* is where a reader stood that moved on or left; nil when a message came.
local function retain(cursor)
  if keep then
    drop_below(top - keep + 1)
  elseif until_read then
    local late = math.abs(now_ms - counted_ms) > LOOK_MS and (cursor or top - floor > LARGE)
    if late or (cursor and cursor < floor) then
      redis.call('HSET', meta, 'counted', now_ms)
      drop_below(first_needed())
    end
    drop_below(top - MOST + 1)
  end
end
