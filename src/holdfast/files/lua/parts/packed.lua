-- Values that are stored as MessagePack.
-- Needs the parts: stored.

local function text(number)
  return string.format('%.0f', number)
end

-- Unpacks a table and checks that its fields *numbers* are whole numbers; missing ones become 0. They must be finite,
-- because a loop to an infinite number would block the server.
local function unpacked(packed, numbers, what, key)
  local readable, value = pcall(cmsgpack.unpack, packed)
  if not readable or type(value) ~= 'table' then
    damaged(what, key)
  end
  for _, field in ipairs(numbers) do
    local number = value[field] or 0
    if type(number) ~= 'number' or number < 0 or number > EXACT or number % 1 ~= 0 then
      damaged(what, key)
    end
    value[field] = number
  end
  return value
end
