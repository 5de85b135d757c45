-- Numbers in rows and in `plan`.

-- Returns a whole number, also a large one, as text.
local function text(n)
  return string.format('%.0f', n)
end

-- Returns a stored number of milliseconds or microseconds; nil if it is not one that Holdfast writes.
-- A damaged row must not fail the call for other rows.
local function stored_number(value)
  local n = tonumber(value or nil)
  return n and n >= 0 and n < 2 ^ 53 and n or nil
end
