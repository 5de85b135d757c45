#!lua flags=allow-oom
-- messages/remove_chats: remove chats from the list of a user, unless they were added again.
--
-- KEYS[1]  ZSET    chats   ids, scored by when each was added (ms)
-- KEYS[2]  HASH    added   chat -> the user who added this user
-- ARGV[1]  int     age_ms  chats added less than this time ago stay, because the user may be about to join
-- ARGV[2]  string  first of the chats, two arguments each: id, score that the caller has read
-- returns  int     number of removed chats
-- include clock
-- include chat_list

local chats, added, age_ms = KEYS[1], KEYS[2], tonumber(ARGV[1])
local FIRST = 2
local now_ms = clock()
local removed = 0
for i = FIRST, #ARGV, 2 do
  local score = redis.call('ZSCORE', chats, ARGV[i])
  if score == ARGV[i + 1] and math.max(0, now_ms - added_ms(tonumber(score))) >= age_ms then
    removed = removed + redis.call('ZREM', chats, ARGV[i])
    redis.call('HDEL', added, ARGV[i])
  end
end
return removed
