-- How the room in a reply is shared between logs. Expects: entries.
--
-- *room* says how many messages fit, `limit`, and how many `bytes` of them; `page` entries are looked at in one go.

-- Gives a row the entries that there is room for; false when something had to stay.
local function give(room, row, parts, size)
  if #row[6] == 0 and #parts <= 3 * room.limit and size <= room.bytes then  -- the rule
    room.limit, room.bytes = room.limit - #parts / 3, room.bytes - size
    row[6] = parts
    return true
  end
  local given = row[6]
  for i = 1, #parts, 3 do
    room.bytes = room.bytes - #parts[i + 1] - #parts[i + 2]
    if room.bytes < 0 or room.limit <= 0 then
      room.limit = 0
      return false
    end
    room.limit = room.limit - 1
    for n = i, i + 2 do
      given[#given + 1] = parts[n]
    end
  end
  return true
end

-- *unread*: a `row`, the `parts` of its entries and their `size`, and how many `more` its `log` has.
local function fill(room, unread)
  local row, open = unread.row, give(room, unread.row, unread.parts, unread.size)
  for _ = 1, math.ceil(math.min(room.limit, unread.more) / room.page) do
    if open then
      local after = '(' .. id_of(row[6][#row[6] - 2])
      local page = redis.call('XRANGE', unread.log, after, '+', 'COUNT', room.page)
      open = give(room, row, flat(page))
    end
  end
end
