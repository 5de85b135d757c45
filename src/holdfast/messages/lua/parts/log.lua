-- What is known of a log, and how it grows and shrinks.
-- Expects: meta, log, cursors, active, now_s, now_ms, now_us, whole, EXACT.

local KEPT_S = 400 * 86400  -- what nobody uses is forgotten

local known = redis.call('HMGET', meta, 'epoch', 'top', 'floor', 'day', 'keep', 'last')
local epoch, top, floor, last = known[1], 0, 1, known[6]
if epoch or known[2] then
  whole(epoch, 1, EXACT, 'field epoch', meta)
  top = whole(known[2], 0, EXACT - 1, 'field top', meta)
  floor = whole(known[3], 1, top + 1, 'field floor', meta)
end

local function text(n)
  return string.format('%.0f', n)
end

-- The number up to which *reader* has acknowledged; nil if it is no reader.
local function cursor_of(reader)
  local score = redis.call('ZSCORE', cursors, reader)
  return score and whole(score, 0, top, 'a score', cursors)
end

-- Begins it. What an eviction may have left of an earlier one must not be mistaken for its own.
local function found()
  redis.call('UNLINK', log, cursors, active)
  epoch = text(now_us)
  redis.call('HSET', meta, 'epoch', epoch, 'top', '0', 'floor', '1')
end

local function live_on()
  local day = math.floor(now_s / 86400)
  if tonumber(known[4] or nil) ~= day then  -- once a day will do
    redis.call('HSET', meta, 'day', day)
    for _, key in ipairs({meta, log, cursors, active}) do
      redis.call('EXPIRE', key, KEPT_S)
    end
  end
end

local function show_life(reader)
  local since_s = now_s - math.floor(tonumber(epoch) / 1000000)
  if redis.call('HSET', active, reader, since_s) == 1 then
    redis.call('EXPIRE', active, KEPT_S)
  end
end

local function remember()
  redis.call('HSET', meta, 'top', top, 'floor', floor)
end
