-- Converts times when readers were last active. They are stored in seconds since the log was created, to save memory.

local MAX_DIGITS = 11  -- of a stored value; a longer one is not valid

-- Returns the stored time in ms since 1970; '' if there is no valid value.
local function last_seen_ms(stored, epoch)
  if not (stored and epoch and #stored <= MAX_DIGITS and stored:find('^%d+$')) then
    return ''
  end
  return string.format('%.0f', (math.floor(tonumber(epoch) / 1000000) + tonumber(stored)) * 1000)
end
