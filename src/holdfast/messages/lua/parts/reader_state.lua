-- Where a reader stands in a log, and what it was shown there.
-- Expects: position.

local LARGEST = 9007199254740991  -- the largest whole number that Lua has exactly

-- Where a reader reads on from its own position. What was lost is read again, from the first message
-- that it may read.
local function start(meta, reader, position, same)
  local said = redis.call('HMGET', meta, 'history', 'first:' .. reader)
  local number = same and position.epoch ~= '0' and tonumber(position.number) or 0
  return said[1] == 'open' and number or math.max(number, (tonumber(said[2] or nil) or 1) - 1)
end

-- A row of the reply without entries, the first number to read, and `top` and `last`; only the row if
-- there is nothing to read, or if another program has damaged what is stored: the client says so.
local function standing(meta, log, cursors, reader, position)
  local known = redis.call('HMGET', meta, 'epoch', 'top', 'floor', 'last')
  local cursor = redis.call('ZSCORE', cursors, reader)
  local epoch = known[1] == '' and '?' or known[1] or ''
  local row = {epoch, known[2] or '0', known[3] or '1', cursor or '', '', {}, '', 1}
  local top, floor, from = tonumber(row[2]), tonumber(row[3]), tonumber(cursor or nil)
  local sound = known[1] and top and floor and top < LARGEST and floor <= top + 1
    and not row[2]:find('%D')
  if position then
    row[8] = (not sound and position.epoch == '0'
      or sound and holds(log, known[1], top, known[4], position)) and 1 or 0
  end
  if not (sound and from and from >= 0 and from <= top and from % 1 == 0) then
    return row
  end
  if position and position.own then
    from = start(meta, reader, position, row[8] == 1)
    row[4] = string.format('%.0f', from)
  end
  return row, math.max(floor, from + 1), top, known[4]
end
