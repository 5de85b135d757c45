-- How rows and their plans say numbers.

-- A whole number, also a large one, as text.
local function text(n)
  return string.format('%.0f', n)
end

-- A number of milliseconds or microseconds that a row or its plan says; nil where there is none that
-- Holdfast writes: of one damaged row, the others must hear nothing.
local function stored_number(value)
  local n = tonumber(value or nil)
  return n and n >= 0 and n < 2 ^ 53 and n or nil
end
