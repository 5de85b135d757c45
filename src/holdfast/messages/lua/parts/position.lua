-- Parses and checks positions. A position is the text EPOCH:NUMBER-MS, or >EPOCH:NUMBER-MS
--   EPOCH   when the log was created (us); 0: the device has no messages
--   NUMBER  number of the last message that the reader got
--   MS      when that message was sent; it distinguishes the message from one that got the same number after a loss
--   >       the device gave the position, so messages after it are returned, acknowledged or not

-- Returns the position in *text* as a table; or false for an empty text.
local function parse_position(text)
  local own, epoch, number, ms = text:match('^(>?)(%d+):(%d+)%-(%d*)$')
  return epoch and {own = own == '>', epoch = epoch, number = number, ms = ms} or false
end

-- Returns the position of the newest message of a log, as text.
local function newest_position(epoch, last)
  return epoch .. ':' .. (last or '')
end

-- Returns whether the position *text* is that of the newest message, which has the number *top*.
local function is_newest(text, epoch, top, last)
  return epoch and last and text == newest_position(epoch, last) and last:find(top .. '-', 1, true) == 1
end

-- Returns when the message *number* was sent (ms), as text; nil if the log does not have the message.
local function stamp_of(log, number, last)
  local newest, ms = (last or ''):match('^(%d+)-(%d+)$')
  if newest ~= number then
    local entry = redis.call('XRANGE', log, number, number, 'COUNT', 1)[1]
    ms = entry and entry[1]:match('%d+$')
  end
  return ms
end

-- Returns whether *position* is valid in this log: its message was in the log, even if it has been dropped since.
local function holds(log, epoch, top, last, position)
  if position.epoch == '0' then
    return true
  elseif position.epoch ~= epoch or tonumber(position.number) > top then
    return false
  elseif position.ms == '' then  -- the time is unknown
    return position.number == '0' or not position.own
  end
  return (stamp_of(log, position.number, last) or position.ms) == position.ms
end
