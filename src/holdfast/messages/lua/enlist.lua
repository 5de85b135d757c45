#!lua
-- messages/enlist: note that a user has, or is about to have, a chat; and that the list is in use.
--
-- KEYS[1]  ZSET    chats  ids, scored by when they were noted (ms); '' the list, by its begin (us)
-- ARGV[1]  string  chat   '' none
-- ARGV[2]  string  bell   channel of the list
-- returns  string  when the chat was noted (ms); '' none
-- include clock

local KEPT_S = 400 * 86400  -- what nobody uses is forgotten
local chats, chat, bell = KEYS[1], ARGV[1], ARGV[2]
redis.call('ZADD', chats, 'NX', string.format('%.0f', now_us), '')
local note = ''
if chat ~= '' then
  -- Never the same twice: who takes it off the list says which note it has seen.
  local noted = tonumber(redis.call('ZSCORE', chats, chat) or nil) or 0
  note = string.format('%.0f', math.max(now_ms, noted + 1))
  redis.call('ZADD', chats, note, chat)
  redis.pcall('SPUBLISH', bell, chat)
end
redis.call('EXPIRE', chats, KEPT_S)
return note
