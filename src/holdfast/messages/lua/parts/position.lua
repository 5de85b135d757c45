-- From where a reader reads on: what a device has says more than what was acknowledged, and of
-- another incarnation it has nothing.
local function start(cursor, known, epoch, seq)
  if not cursor or epoch == '' then
    return cursor or ''
  elseif epoch ~= known[1] then
    return '0'
  end
  return string.format('%.0f', math.min(tonumber(seq), tonumber(known[2])))
end
