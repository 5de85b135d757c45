-- The last position that a reader got, as text: epoch:number:ms. The ms, when the message was sent,
-- distinguish it from a message that got its number after the server lost it. A > before the text
-- means that the device gave the position, to read on from it. Epoch 0 means that it has no messages.

-- Returns the position in *text* as a table; or false for an empty text.
local function parse_position(text)
  local own, epoch, number, ms = text:match('^(>?)(%d+):(%d+):(%d*)$')
  return epoch and {own = own == '>', epoch = epoch, number = number, ms = ms} or false
end

-- When message *number* was sent (ms), as stored; nil if the log does not hold it.
local function stamp_of(log, number, last)
  local newest, ms = (last or ''):match('^(%d+)-(%d+)$')
  if newest ~= number then
    local entry = redis.call('XRANGE', log, number, number, 'COUNT', 1)[1]
    ms = entry and entry[1]:match('%d+$')
  end
  return ms
end

-- Whether *position* is one of this log, even if the log has dropped that message since.
local function holds(log, epoch, top, last, position)
  if position.epoch == '0' then
    return true
  elseif position.epoch ~= epoch or tonumber(position.number) > top then
    return false
  elseif position.ms == '' then  -- a position of an older version
    return position.number == '0' or not position.own
  end
  return (stamp_of(log, position.number, last) or position.ms) == position.ms
end
