-- How the room in a reply is shared between logs. Expects: limit, bytes, PAGE, flat, id_of.

-- Gives a row the entries that there is room for; false when something had to stay.
local function give(row, parts, size)
  if #row[6] == 0 and #parts <= 3 * limit and size <= bytes then  -- the rule
    limit, bytes = limit - #parts / 3, bytes - size
    row[6] = parts
    return true
  end
  local given = row[6]
  for i = 1, #parts, 3 do
    bytes = bytes - #parts[i + 1] - #parts[i + 2]
    if bytes < 0 or limit <= 0 then
      limit = 0
      return false
    end
    limit = limit - 1
    for n = i, i + 2 do
      given[#given + 1] = parts[n]
    end
  end
  return true
end

local function fill(each)
  local row, open = each.row, give(each.row, each.parts, each.size)
  for _ = 1, math.ceil(math.min(limit, each.more) / PAGE) do
    if open then
      local after = '(' .. id_of(row[6][#row[6] - 2])
      open = give(row, flat(redis.call('XRANGE', each.log, after, '+', 'COUNT', PAGE)))
    end
  end
end
