-- Formats and parses numbers.

-- Returns a whole number as text, without an exponent even if it is large.
local function text(n)
  return string.format('%.0f', n)
end

-- Returns a stored number of milliseconds or microseconds; nil if it is not valid. It raises no error, because the call
-- must still succeed for rows that are not damaged.
local function stored_number(value)
  local n = tonumber(value or nil)
  return n and n >= 0 and n < 2 ^ 53 and n or nil
end
