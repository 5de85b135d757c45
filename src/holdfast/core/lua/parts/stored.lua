-- Numbers that other programs may have changed. Read them before the first write of the script.

local EXACT = 9007199254740991  -- the largest whole number that Lua stores exactly

-- Ends the script: *what*, stored under *key*, is not what Holdfast writes. Nothing is applied (see
-- core/transport/outcome.py).
local function damaged(what, key)
  error({err = 'DAMAGED ' .. what .. ' of ' .. key .. ' is not what Holdfast writes'})
end

-- Returns the whole number from *least* to *most* stored as decimal digits, or ends the script.
local function whole(stored, least, most, what, key)
  local digits = type(stored) == 'string' and #stored <= 16 and stored:find('^%d+$')
  local n = digits and tonumber(stored)
  if not n or n < least or n > most then
    damaged(what, key)
  end
  return n
end
