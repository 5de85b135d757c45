#!lua
-- messages/add_chat: add a chat to the list of a user, or record that the user is active in the chat.
--
-- KEYS[1]  ZSET    chats    ids, scored by when each was added (ms); the member '' is scored by when the list was
--                           created (us)
-- KEYS[2]  HASH    added    chat -> the user who added this user, until this user is active in the chat
-- ARGV[1]  string  chat     id of the chat
-- ARGV[2]  string  channel  channel of the list
-- ARGV[3]  string  by       '': the user is active in the chat
--                           '=': the user joins
--                           '=NAME': the user NAME adds this user
-- returns  string  the score of the chat; '' if the chat did not fit
-- include clock
-- include chat_list

local KEPT_S = 400 * 86400  -- lifetime of a list after the last call of this script
local chats, added, chat, channel, by = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local now_ms, _, now_us = clock()

redis.call('ZADD', chats, 'NX', string.format('%.0f', now_us), '')
local score = tonumber(redis.call('ZSCORE', chats, chat) or nil)
local is_active, is_own = by == '', score and score >= 0
if not (is_active and is_own and redis.call('ZCARD', chats) <= OWN) then
  -- Choose a score that the chat never had: a client removes a chat only if it still has the score that it read.
  local since_ms = score and added_ms(score) or 0
  if not (is_active and score) or is_own then
    since_ms = math.max(now_ms, since_ms + 1)
  end
  if is_active or is_own or by == '=' then
    redis.call('HDEL', added, chat)
  else
    since_ms = since_ms + OTHERS
    if not score then
      redis.call('HSET', added, chat, by)
    end
  end
  redis.call('ZADD', chats, string.format('%.0f', since_ms), chat)
  limit_others(chats, added)
  if not (is_active and score) then
    redis.pcall('SPUBLISH', channel, chat)
  end
end
redis.call('EXPIRE', chats, KEPT_S)
redis.call('EXPIRE', added, KEPT_S)
return redis.call('ZSCORE', chats, chat) or ''
