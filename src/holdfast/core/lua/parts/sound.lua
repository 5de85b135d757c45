-- Numbers that other programs may have changed. Read them before the first write of the script.

local EXACT = 9007199254740991  -- the largest whole number that Lua has exactly

-- Ends the script: *what* is stored under *key* is not what Holdfast writes. Nothing is applied (see
-- core/connections/outcome.py).
local function damaged(what, key)
  error({err = 'DAMAGED ' .. what .. ' of ' .. key .. ' is not what Holdfast writes'})
end

-- The whole number from *least* to *most* that is stored as decimal digits; ends the script otherwise,
-- and if there is none.
local function whole(stored, least, most, what, key)
  local n = stored and #stored <= 16 and not stored:find('%D') and tonumber(stored)
  if not n or n < least or n > most then
    damaged(what, key)
  end
  return n
end
