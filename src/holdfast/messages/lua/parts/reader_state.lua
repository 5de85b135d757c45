-- Determines from which message on a reader reads a log.
-- Needs the parts: position.

local LARGEST = 9007199254740991  -- the largest whole number that Lua represents exactly

-- Returns the stored fields of a log, and the cursor of a reader (false: the user is not a reader).
local function read_state(meta, cursors, reader)
  local known = redis.call('HMGET', meta, 'epoch', 'top', 'floor', 'last')
  return known, redis.call('ZSCORE', cursors, reader)
end

-- Returns the state of a log, as text: it changes with each message, and with each new log.
local function state_of(known)
  return newest_position(known[1], known[4])
end

-- Returns the number of the message after which a device reads. If its position is not valid (*same* is false), the
-- device reads from the first message on that the user may read.
local function start(meta, reader, position, same)
  local fields = redis.call('HMGET', meta, 'history', 'first:' .. reader)
  local number = same and position.epoch ~= '0' and tonumber(position.number) or 0
  return fields[1] == 'open' and number or math.max(number, (tonumber(fields[2] or nil) or 1) - 1)
end

-- Returns whether the position *text* is valid (1 or 0); the cursor, or the number of the device's position; the number
-- of the first message to read; and `top`. The last two are nil if the user is not a reader, or if the metadata is
-- damaged (the client then raises an error).
local function reader_state(meta, log, known, cursor, reader, text)
  local top, floor, from = tonumber(known[2] or '0'), tonumber(known[3] or '1'), tonumber(cursor or nil)
  local sound = known[1] and top and floor and top < LARGEST and floor <= top + 1
    and not (known[2] or ''):find('%D')
  local position, valid = false, 1
  if text ~= '' and not is_newest(text, known[1], known[2] or '', known[4]) then
    position = parse_position(text)
  end
  if position then
    valid = (not sound and position.epoch == '0'
      or sound and holds(log, known[1], top, known[4], position)) and 1 or 0
  end
  if not (sound and from and from >= 0 and from <= top and from % 1 == 0) then
    return valid, cursor or ''
  end
  if position and position.own then
    from = start(meta, reader, position, valid == 1)
    cursor = string.format('%.0f', from)
  end
  return valid, cursor, math.max(floor, from + 1), top
end
