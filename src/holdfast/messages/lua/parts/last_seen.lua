-- Signs of life of readers: seconds since the log began, as few digits take the least memory.

local LONGEST = 11  -- digits; another program may have written anything

-- The second, in ms, of a sign of life; '' if there is none.
local function life_ms(stored, epoch)
  if not (stored and epoch and #stored <= LONGEST and stored:find('^%d+$')) then
    return ''
  end
  return string.format('%.0f', (math.floor(tonumber(epoch) / 1000000) + tonumber(stored)) * 1000)
end
