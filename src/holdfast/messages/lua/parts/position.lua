-- What a reader was shown: epoch:number:ms, when that message was sent (ms), which tells it from one
-- that got its number after the server lost it. With a > before it the reader says so itself, to read
-- on from there; an epoch of 0 says that it was shown nothing.

-- A position as a table; false if nothing was shown.
local function shown(text)
  local own, epoch, number, ms = text:match('^(>?)(%d+):(%d+):(%d*)$')
  return epoch and {own = own == '>', epoch = epoch, number = number, ms = ms} or false
end

-- When message *number* was sent (ms), as stored; nil if it is not there.
local function stamp_of(log, number, last)
  local newest, ms = (last or ''):match('^(%d+)-(%d+)$')
  if newest ~= number then
    local entry = redis.call('XRANGE', log, number, number, 'COUNT', 1)[1]
    ms = entry and entry[1]:match('%d+$')
  end
  return ms
end

-- Whether the log holds what was shown; also if it does not keep it any more.
local function holds(log, epoch, top, last, position)
  if position.epoch == '0' then
    return true
  elseif position.epoch ~= epoch or tonumber(position.number) > top then
    return false
  elseif position.ms == '' then  -- as positions of older versions are
    return position.number == '0' or not position.own
  end
  return (stamp_of(log, position.number, last) or position.ms) == position.ms
end
