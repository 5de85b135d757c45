#!lua flags=allow-oom
-- queues/relay_ends: remove the ends of members that their groups have counted, and return the next ones. Each worker
-- of a queue has a relay (see worker/group_relay.py); only one of them works at a time.
--
-- KEYS[1]  LIST    member_ends  how members of groups ended, for their groups; the oldest first
-- KEYS[2]  STRING  relay    name and last number of the relay that works
-- ARGV[1]  string  name     name of the relay that calls
-- ARGV[2]  int     number   number of this call, counted by the relay
-- ARGV[3]  int     hold_ms  after so long without a call another relay takes over
-- ARGV[4]  int     taken    ends that the last reply had, which are removed; 0 for the first call
-- ARGV[5]  string  first of those of the taken ends that no group has counted: they are appended again
-- returns  array   0 and the next ends, if this relay works; otherwise the ms until it may ask again

local FIRST = 5
local name, number, hold_ms, taken = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local MOST = 100            -- ends in one reply
local MOST_BYTES = 524288   -- bytes in one reply; the last chunk may exceed it
local CHUNK = 10

local holder = redis.call('GET', KEYS[2]) or ''
local owner, last = holder:match('^(%S+) (%d+)$')
if owner and owner ~= name then
  return {math.max(1, redis.call('PTTL', KEYS[2]))}
end
-- *taken* counts only if this relay has made the previous call. So a repeated call removes nothing.
if owner and tonumber(last) == number - 1 and taken > 0 then
  redis.call('LPOP', KEYS[1], taken)
  for i = FIRST, #ARGV do
    redis.call('RPUSH', KEYS[1], ARGV[i])
  end
end
local reply, bytes = {0}, 0
for start = 0, MOST - 1, CHUNK do
  local found = bytes < MOST_BYTES and redis.call('LRANGE', KEYS[1], start, start + CHUNK - 1) or {}
  for _, entry in ipairs(found) do
    reply[#reply + 1], bytes = entry, bytes + #entry
  end
end
if #reply == 1 then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], name .. ' ' .. number, 'PX', hold_ms)
end
return reply
