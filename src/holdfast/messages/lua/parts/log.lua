-- What is known of a log, and how it grows and shrinks.
-- Expects: meta, log, cursors, active, now_s, now_ms, now_us.

local KEPT_S = 400 * 86400  -- what nobody uses is forgotten

local known = redis.call('HMGET', meta, 'epoch', 'top', 'floor', 'day', 'keep')
local epoch, top, floor = known[1], tonumber(known[2]) or 0, tonumber(known[3]) or 1

local function text(n)
  return string.format('%.0f', n)
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

-- Adds a message, after which *most* are kept. Of those that lie below, the blocks of the stream go
-- at once, single messages with their block. The trace in which it was sent is a second field:
-- whoever does not know it sees only the first.
local function append(sender, body, trace, most)
  top = top + 1
  floor = math.max(floor, top - most + 1)
  local id = string.format('%.0f-%.0f', top, now_ms)
  if trace == '' then
    redis.call('XADD', log, 'MINID', '~', floor, id, sender, body)
  else
    redis.call('XADD', log, 'MINID', '~', floor, id, sender, body, 'trace', trace)
  end
  if top == 1 then
    known[4] = nil  -- the log itself is new, though the rest may be older
  end
end

local function remember()
  redis.call('HSET', meta, 'top', top, 'floor', floor)
end
