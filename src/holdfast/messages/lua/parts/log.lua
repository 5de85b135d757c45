-- What is known of a mailbox or chat, and how its log begins and lives on.
-- Expects: sound.
--
-- *unit* has the keys `meta`, `log`, `cursors` and `active`, and `now_ms`, `now_s` and `now_us`.

local KEPT_S = 400 * 86400  -- what nobody uses is forgotten

local function text(n)
  return string.format('%.0f', n)
end

-- Adds what is stored: `epoch` (false: there is no such log), `top`, `floor`, `last`, `day`, `kept`.
local function read_log(unit)
  local meta = unit.meta
  local known = redis.call('HMGET', meta, 'epoch', 'top', 'floor', 'day', 'keep', 'last')
  local epoch = known[1]
  unit.epoch, unit.top, unit.floor = epoch, 0, 1
  unit.day, unit.kept, unit.last = known[4], known[5], known[6]
  if epoch or known[2] then
    whole(epoch, 1, EXACT, 'field epoch', meta)
    unit.top = whole(known[2], 0, EXACT - 1, 'field top', meta)
    unit.floor = whole(known[3], 1, unit.top + 1, 'field floor', meta)
  end
end

-- The number up to which *reader* has acknowledged; nil if it is no reader.
local function cursor_of(unit, reader)
  local score = redis.call('ZSCORE', unit.cursors, reader)
  return score and whole(score, 0, unit.top, 'a score', unit.cursors)
end

-- Begins the log. What an eviction may have left of an earlier one must not be mistaken for its own.
local function begin(unit)
  redis.call('UNLINK', unit.log, unit.cursors, unit.active)
  unit.epoch = text(unit.now_us)
  redis.call('HSET', unit.meta, 'epoch', unit.epoch, 'top', '0', 'floor', '1')
end

local function live_on(unit)
  local day = math.floor(unit.now_s / 86400)
  if tonumber(unit.day or nil) ~= day then  -- once a day will do
    redis.call('HSET', unit.meta, 'day', day)
    for _, key in ipairs({unit.meta, unit.log, unit.cursors, unit.active}) do
      redis.call('EXPIRE', key, KEPT_S)
    end
  end
end

local function show_life(unit, reader)
  local since_s = unit.now_s - math.floor(tonumber(unit.epoch) / 1000000)
  if redis.call('HSET', unit.active, reader, since_s) == 1 then
    redis.call('EXPIRE', unit.active, KEPT_S)
  end
end

local function remember(unit)
  redis.call('HSET', unit.meta, 'top', unit.top, 'floor', unit.floor)
end
