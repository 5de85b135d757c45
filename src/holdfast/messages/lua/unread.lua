#!lua flags=no-writes
-- messages/unread: count the unread messages of a user in some chats.
--
-- KEYS[1]  HASH    meta     first of the chats, two keys each: epoch, top, floor, last
-- KEYS[2]  ZSET    cursors  members, scored by the number up to which they have acknowledged
-- ARGV[1]  string  reader   the user
-- ARGV[2]  int     chats    number of chats
-- returns  array   for each chat: number of unread messages ('' if the user is not a member), id of the newest message
--                  ('' if unknown)
-- include stored

local reader, chats = ARGV[1], tonumber(ARGV[2])
local found = {}
for i = 1, 2 * chats, 2 do
  local meta, cursors = KEYS[i], KEYS[i + 1]
  local known = redis.call('HMGET', meta, 'epoch', 'top', 'floor', 'last')
  local cursor = redis.call('ZSCORE', cursors, reader)
  found[i], found[i + 1] = '', ''
  if known[1] and cursor then
    local top = whole(known[2], 0, EXACT, 'field top', meta)
    local floor = whole(known[3], 1, top + 1, 'field floor', meta)
    local read = math.max(whole(cursor, 0, top, 'a score', cursors), floor - 1)
    found[i], found[i + 1] = string.format('%.0f', top - read), known[4] or ''
  end
end
return found
