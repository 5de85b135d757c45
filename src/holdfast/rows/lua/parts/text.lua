-- Whole numbers, also large ones, as text.
local function text(n)
  return string.format('%.0f', n)
end
