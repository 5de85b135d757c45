#!lua flags=no-writes
-- queues/permissions: return the commands that this user may not run, and change nothing.
--
-- KEYS[1]  ZSET    leases  running ids
-- ARGV[1]  string  first of the commands: name, then what follows its key, with blanks between
-- returns  array   the names of the commands that the server denies
-- include clock

-- The server checks permissions first. Then it refuses commands that write, because this script has the
-- flag no-writes. The key may be of another type than the command needs, which changes nothing either.
clock()
local FIRST = 1
local denied = {}
for i = FIRST, #ARGV do
  local words = {}
  for word in ARGV[i]:gmatch('%S+') do
    words[#words + 1] = word
  end
  local reply = redis.pcall(words[1], KEYS[1], unpack(words, 2))
  local text = type(reply) == 'table' and reply.err or ''
  if text:find('ACL failure') or text:find('user executing the script') then  -- the latter: Redis 7.0
    denied[#denied + 1] = words[1]
  end
end
return denied
