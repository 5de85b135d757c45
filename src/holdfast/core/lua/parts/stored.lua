-- Checks of stored numbers, because another program may have changed them. Call these before the first
-- write of a script, so that a script that raises changes nothing.

local EXACT = 9007199254740991  -- the largest whole number that Lua represents exactly

-- Raises the error DAMAGED (see core/transport/outcome.py): *what*, stored in *key*, has a content that
-- Holdfast does not write.
local function damaged(what, key)
  error({err = 'DAMAGED ' .. what .. ' of ' .. key .. ' is not what Holdfast writes'})
end

-- Returns the decimal digits *stored* as a number from *least* to *most*. Otherwise raises as `damaged`.
local function whole(stored, least, most, what, key)
  local digits = type(stored) == 'string' and #stored <= 16 and stored:find('^%d+$')
  local n = digits and tonumber(stored)
  if not n or n < least or n > most then
    damaged(what, key)
  end
  return n
end
