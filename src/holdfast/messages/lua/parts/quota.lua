-- Fills a reply with entries of several logs. Expects: entries, reader_state.
--
-- The table *room* has `limit` and `bytes`, the number of messages and bytes that still fit into the reply, and `page`,
-- the number of entries to read at a time.

-- Adds entries to the reply for a log, as many as fit. Returns false if some did not fit.
local function give(room, reply, parts, size)
  if #reply[ENTRIES] == 0 and #parts <= 3 * room.limit and size <= room.bytes then  -- the usual case
    room.limit, room.bytes = room.limit - #parts / 3, room.bytes - size
    reply[ENTRIES] = parts
    return true
  end
  local given = reply[ENTRIES]
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

-- Fills the reply for one log. The table *unread* has
--   reply  the reply to fill
--   log    key of the log
--   parts  the first unread entries
--   size   bytes of these entries
--   more   number of unread entries after them
local function fill(room, unread)
  local reply, open = unread.reply, give(room, unread.reply, unread.parts, unread.size)
  for _ = 1, math.ceil(math.min(room.limit, unread.more) / room.page) do
    if open then
      local after = '(' .. id_of(reply[ENTRIES][#reply[ENTRIES] - 2])
      local page = redis.call('XRANGE', unread.log, after, '+', 'COUNT', room.page)
      open = give(room, reply, flat(page))
    end
  end
end
