-- Whole numbers as they are stored: another program may have written anything.

local EXACT = 9007199254740991  -- the largest whole number that Lua has exactly

-- A whole number from *least* to *most*. Stops the script if it is none: nothing is written before.
local function whole(stored, least, most, what, key)
  local digits = type(stored) == 'string' and #stored <= 16 and stored:find('^%d+$')
  local n = digits and tonumber(stored)
  if not n or n < least or n > most then
    error({err = 'DAMAGED ' .. what .. ' of ' .. key .. ' is not what Holdfast writes'})
  end
  return n
end
