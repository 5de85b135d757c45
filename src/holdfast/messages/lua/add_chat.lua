#!lua
-- messages/add_chat: note that a user has, or is about to have, a chat; and that the list is in use.
--
-- KEYS[1]  ZSET    chats  ids, scored by when they were noted (ms); '' the list, by its begin (us)
-- KEYS[2]  HASH    added  chat -> who added the user, which has done nothing in it yet
-- ARGV[1]  string  chat
-- ARGV[2]  string  bell   channel of the list
-- ARGV[3]  string  by     '' the user acts in it; else it is noted: = and who adds the user, if another
-- returns  string  when the chat was noted, as it is stored now
-- include clock
-- include chat_list
-- include chat_limit

local KEPT_S = 400 * 86400  -- what nobody uses is forgotten
local chats, added, chat, bell, by = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local now_ms, _, now_us = clock()

redis.call('ZADD', chats, 'NX', string.format('%.0f', now_us), '')
local score = tonumber(redis.call('ZSCORE', chats, chat) or nil)
local acts, own = by == '', score and score >= 0
if not (acts and own and redis.call('ZCARD', chats) <= OWN) then
  -- Never the same twice: who takes it off the list says which note it has seen.
  local note = score and noted_ms(score) or 0
  if not (acts and score) or own then
    note = math.max(now_ms, note + 1)
  end
  if acts or own or by == '=' then
    redis.call('HDEL', added, chat)
  else
    note = note + OTHERS
    if not score then
      redis.call('HSET', added, chat, by)
    end
  end
  redis.call('ZADD', chats, string.format('%.0f', note), chat)
  make_room(chats, added)
  if not (acts and score) then
    redis.pcall('SPUBLISH', bell, chat)
  end
end
redis.call('EXPIRE', chats, KEPT_S)
redis.call('EXPIRE', added, KEPT_S)
return redis.call('ZSCORE', chats, chat) or ''
