-- Chooses the entries of several logs that fit into a reply. Needs the parts: entries.

-- Adds entries to the list *given*, as many as fit into *room*: a table with `limit` and `bytes`, the number of messages
-- and bytes that are left, and `page`, the number of entries to read at a time. Returns false if some did not fit.
local function give(room, given, parts, first, last)
  for i = first, last, 3 do
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

-- Returns the entries of one log that fit into *room*: those that were read, and further pages. The table *each* has
-- `first` and `count` of its entries in *replies*, its key `log`, and `more`, the number of unread entries after them.
local function chosen(replies, each, room)
  local given = {}
  local open = give(room, given, replies, each.first, each.first + 3 * each.count - 1)
  for _ = 1, math.ceil(math.min(room.limit, each.more) / room.page) do
    if open then
      local after = '(' .. id_of(given[#given - 2])
      local parts = flat(redis.call('XRANGE', each.log, after, '+', 'COUNT', room.page))
      open = give(room, given, parts, 1, #parts)
    end
  end
  return given
end

-- Returns *replies* (see fetch.lua) with only those entries that fit. Logs get room in this order: first the user's own
-- ones, then the others; among them first the log with the oldest unread entry.
local function fitted(replies, unread, room)
  table.sort(unread, function(a, b)
    if a.is_own ~= b.is_own then
      return a.is_own
    end
    return tonumber(a.since) < tonumber(b.since)
  end)
  local by_first, found = {}, {}
  for _, each in ipairs(unread) do
    by_first[each.first] = chosen(replies, each, room)
  end
  local i = 1
  for _ = 1, #replies / 3 do
    if replies[i] then
      local entries = by_first[i + 3] or {}
      found[#found + 1], found[#found + 2], found[#found + 3] = replies[i], replies[i + 1], #entries / 3
      for n = 1, #entries do
        found[#found + 1] = entries[n]
      end
      i = i + 3 + 3 * replies[i + 2]
    end
  end
  return found
end
