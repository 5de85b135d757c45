#!lua flags=no-writes
-- messages/chat_status: return the state of a chat, and the members who are furthest behind.
--
-- KEYS[1]  HASH    meta     epoch, top, floor, keep, idle_ms, since
-- KEYS[2]  ZSET    cursors  members, scored by the number up to which they have acknowledged
-- KEYS[3]  HASH    active   member -> when the member was last active (s since epoch)
-- ARGV[1]  int     limit    maximum number of members in the reply, up to 1,000
-- returns  array   now (ms), number of members, epoch ('': there is no such chat), top, floor, keep, idle_ms, since;
--                  then for each member: name, cursor, when the member was last active (ms; '': unknown)
-- include clock
-- include stored
-- include last_seen

local meta, cursors, active, limit = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1])
local now_ms = clock()
local found = {string.format('%.0f', now_ms), redis.call('ZCARD', cursors)}
local known = redis.call('HMGET', meta, 'epoch', 'top', 'floor', 'keep', 'idle_ms', 'since')
if known[1] then
  local top = whole(known[2], 0, EXACT, 'field top', meta)
  whole(known[3], 1, top + 1, 'field floor', meta)
  whole(known[1], 1, EXACT, 'field epoch', meta)
  whole(known[5], 0, EXACT, 'field idle_ms', meta)
  whole(known[6], 0, EXACT, 'field since', meta)
  if known[4] ~= 'until_read' then
    whole(known[4], 1, EXACT, 'field keep', meta)
  end
end
for n = 1, 6 do
  found[#found + 1] = known[n] or ''
end
local behind = redis.call('ZRANGE', cursors, 0, limit - 1, 'WITHSCORES')
for i = 1, #behind, 2 do
  whole(behind[i + 1], 0, EXACT, 'a score', cursors)
  found[#found + 1] = behind[i]
  found[#found + 1] = behind[i + 1]
  found[#found + 1] = last_seen_ms(redis.call('HGET', active, behind[i]), known[1])
end
return found
