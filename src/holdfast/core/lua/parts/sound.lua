-- Numbers that other programs may have changed. Read them before the first write of the script.

-- Refuses to go on: nothing is applied (see core/connections/outcome.py).
local function damaged(key, what)
  error({err = 'DAMAGED ' .. what .. ' of ' .. key .. ' is not what Holdfast writes'})
end

-- A whole number from *least* to *most*; nil where there is none.
local function whole(value, least, most, key, what)
  if not value then
    return nil
  end
  local n = tonumber(value)
  if not n or not (n >= least and n <= most) or n ~= math.floor(n) then
    damaged(key, what)
  end
  return n
end
