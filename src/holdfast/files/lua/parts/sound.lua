-- Checks what is stored before anything counts on it: another program may have written it. A number
-- that bounds a loop must be finite, or the script blocks the server.

local MOST = 2 ^ 53  -- beyond it, numbers are not exact

local function text(number)
  return string.format('%.0f', number)
end

-- Ends the script: a value is not what these scripts store.
local function damaged(key, what)
  error({err = 'DAMAGED ' .. what .. ' of ' .. key .. ' is not what Holdfast writes'})
end

-- *value*, if it is a whole number that is not negative.
local function whole(value, key, what)
  if type(value) ~= 'number' or value < 0 or value > MOST or value % 1 ~= 0 then
    damaged(key, what)
  end
  return value
end

-- The same of its decimal digits.
local function decimal(digits, key, what)
  return whole(digits and digits:match('^%d+$') and tonumber(digits), key, what)
end

-- The table that is stored as MessagePack; its fields *numbers* are whole numbers, 0 if there is none.
local function unpacked(packed, key, what, numbers)
  local readable, value = pcall(cmsgpack.unpack, packed)
  if not readable or type(value) ~= 'table' then
    damaged(key, what)
  end
  for _, field in ipairs(numbers) do
    value[field] = whole(value[field] or 0, key, what)
  end
  return value
end
