-- How long a chat keeps its messages.
-- Expects: meta, log, cursors, active, now_s, now_ms, now_us, life_ms.

local MOST = 100000         -- messages of a chat, whatever its readers do
local LARGE = 1000          -- with more, sending looks too whether they are still needed
local LOOK_MS = 60000       -- so often, unless one moves who held messages back
local SECOND_MS = 1000      -- in which one was seen; nobody is let go too early
local PAGE, PAGES = 100, 100  -- readers looked at: all of them, if need be

local keep, until_read = tonumber(known[5]), known[5] == 'until_read'
local terms = until_read and redis.call('HMGET', meta, 'idle_ms', 'since', 'counted')

local function is_active(life)
  local seen_ms = (tonumber(life_ms(life, epoch)) or 0) + SECOND_MS
  return math.max(seen_ms, tonumber(terms[2]) or 0) >= now_ms - tonumber(terms[1])
end

local function drop_below(number)
  if number > floor then
    floor = number
    redis.call('XTRIM', log, 'MINID', '~', floor)
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
    for i = 1, #low, 2 do
      readers[#readers + 1] = low[i]
    end
    for n, life in ipairs(redis.call('HMGET', active, unpack(readers))) do
      if is_active(life) then
        return tonumber(low[2 * n]) + 1
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
    local late = now_ms - (tonumber(terms[3]) or 0) > LOOK_MS and (cursor or top - floor > LARGE)
    if late or (cursor and cursor < floor) then
      redis.call('HSET', meta, 'counted', now_ms)
      drop_below(first_needed())
    end
    drop_below(top - MOST + 1)
  end
end
